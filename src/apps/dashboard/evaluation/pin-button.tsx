// Button that pins a version, which protects it from automatic deletion, or unpins it.
import { useState } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { messageOf } from "../use-loaded.ts";

export function PinButton({
  hone,
  modelId,
  step,
  isPinned,
  onChange,
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly step: number;
  readonly isPinned: boolean;
  readonly onChange: () => void;
}) {
  const [failure, setFailure] = useState<string | null>(null);
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
      <button type="button" onClick={() => void toggle()}>
        {isPinned ? "Unpin" : "Pin"} version {step}
      </button>
      {failure !== null && (
        <span class="failure" role="alert">
          {failure}
        </span>
      )}
    </span>
  );
}
