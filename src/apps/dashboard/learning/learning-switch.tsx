// Button that turns a model's learning on, with the server's default settings, or off.
import type { Hone } from "../../client/hone.ts";
import { ActionButton } from "../components/forms/action-button.tsx";
import { may } from "../session.ts";

const questions = {
  on: {
    title: "Turn learning on with the default settings?",
    says: "The server then trains the model on feedback about its answers, and publishes a new version if it is not worse.",
    button: "Turn learning on",
  },
  off: {
    title: "Turn learning off?",
    says: "The model keeps its versions, and the server stops training it on feedback.",
    button: "Turn learning off",
  },
} as const;

export function LearningSwitch({
  hone,
  id,
  isOn,
  onChange,
}: {
  readonly hone: Hone;
  readonly id: string;
  readonly isOn: boolean;
  readonly onChange: () => void;
}) {
  if (!may("train")) return null;
  const change = async (): Promise<void> => {
    await (isOn ? hone.learning.turnOff(id) : hone.learning.turnOn(id, {}));
    onChange();
  };
  return (
    <ActionButton
      asks={questions[isOn ? "off" : "on"]}
      act={change}
      done={`Learning turned ${isOn ? "off" : "on"}.`}
    >
      {isOn ? "Turn off" : "Turn on"}
    </ActionButton>
  );
}
