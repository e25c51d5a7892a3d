// Button that pins a version, which protects it from automatic deletion, or unpins it.
import { useState } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { CodeText } from "../components/errors/code-text.tsx";
import { may } from "../session.ts";
import { messageOf } from "../components/errors/error-text.ts";

export function PinButton({
  hone,
  modelId,
  step,
  isPinned,
  isBrief = false,
  onChange,
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly step: number;
  readonly isPinned: boolean;
  /** True for a button in a row of the version, whose number is not repeated. */
  readonly isBrief?: boolean;
  readonly onChange: () => void;
}) {
  const [failure, setFailure] = useState<string | null>(null);
  if (!may("train")) return null;
  const verb = isPinned ? "Unpin" : "Pin";
  const toggle = async (): Promise<void> => {
    setFailure(null);
    try {
      await (isPinned ? hone.checkpoints.unpin(modelId, step) : hone.checkpoints.pin(modelId, step));
      onChange();
    } catch (error) {
      setFailure(messageOf(error));
    }
  };
  return (
    <span>
      <button
        type="button"
        class={isBrief ? "plain" : undefined}
        aria-label={`${verb} version ${step}`}
        title="A pinned version is never deleted automatically"
        onClick={() => void toggle()}
      >
        {isBrief ? verb : `${verb} version ${step}`}
      </button>
      {failure !== null && (
        <span class="failure" role="alert">
          <CodeText of={failure} />
        </span>
      )}
    </span>
  );
}
