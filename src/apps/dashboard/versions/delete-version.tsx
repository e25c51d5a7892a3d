// Button that deletes a version of a model, after a confirmation.
import type { Hone } from "../../client/hone.ts";
import { ActionButton } from "../components/forms/action-button.tsx";
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
  if (!may("train")) return null;
  const remove = async (): Promise<void> => {
    const reason = keptReason(await hone.checkpoints.delete(modelId, [step]), step);
    if (reason !== null) throw new Error(reason);
    onChange();
  };
  return (
    <ActionButton
      class="plain danger"
      label={`Delete version ${step}`}
      asks={{
        title: `Delete version ${step}?`,
        says: "The version's adapter and metrics will be lost. Requests for this version will fail.",
        button: "Delete version",
      }}
      act={remove}
      done={`Version ${step} deleted.`}
    >
      Delete
    </ActionButton>
  );
}
