// Button that deletes a version of a model, after a confirmation.
import type { Hone } from "../../client/hone.ts";
import { Failure } from "../components/forms/failure.tsx";
import { useAction } from "../components/forms/use-action.ts";
import { may } from "../session.ts";
import { keptReason } from "./kept-version.ts";

export function DeleteVersion({
  hone,
  modelId,
  step,
  onChange,
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly step: number;
  readonly onChange: () => void;
}) {
  const { isBusy, failure, run } = useAction();
  if (!may("train")) return null;
  const remove = async (): Promise<void> => {
    if (!confirm(`Delete version ${step}? This cannot be undone.`)) return;
    const reason = keptReason(await hone.checkpoints.delete(modelId, [step]), step);
    if (reason !== null) throw new Error(reason);
    onChange();
  };
  return (
    <>
      <button
        type="button"
        class="plain danger"
        disabled={isBusy}
        onClick={() => run(remove)}
        aria-label={`Delete version ${step}`}
      >
        Delete
      </button>
      <Failure of={failure} />
    </>
  );
}
