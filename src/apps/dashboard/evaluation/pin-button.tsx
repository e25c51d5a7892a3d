// Button that pins a version, which protects it from automatic deletion, or unpins it.
import type { Hone } from "../../client/hone.ts";
import { ActionButton } from "../components/forms/action-button.tsx";
import { may } from "../session.ts";

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
  readonly onChange?: () => void;
}) {
  if (!may("train")) return null;
  const verb = isPinned ? "Unpin" : "Pin";
  const toggle = async (): Promise<void> => {
    await (isPinned ? hone.checkpoints.unpin(modelId, step) : hone.checkpoints.pin(modelId, step));
    onChange?.();
  };
  return (
    <ActionButton
      class={isBrief ? "plain" : ""}
      label={`${verb} version ${step}`}
      title="A pinned version is never deleted automatically"
      act={toggle}
      done={`Version ${step} ${verb.toLowerCase()}ned.`}
    >
      {isBrief ? verb : `${verb} version ${step}`}
    </ActionButton>
  );
}
