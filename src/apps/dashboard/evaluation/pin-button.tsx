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
  onChange,
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly step: number;
  readonly isPinned: boolean;
  readonly onChange: () => void;
}) {
  const [failure, setFailure] = useState<string | null>(null);
  if (!may("train")) return null;
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
          <CodeText of={failure} />
        </span>
      )}
    </span>
  );
}
