// Button that turns a model's learning on, with the server's default settings, or off.
import type { Hone } from "../../client/hone.ts";
import { Failure } from "../components/forms/failure.tsx";
import { useAction } from "../components/forms/use-action.ts";
import { may } from "../session.ts";

const questions = {
  on: "Turn learning on with the default settings? The server then trains the model on feedback about its answers, and publishes a new version if it is not worse.",
  off: "Turn learning off? The model keeps its versions.",
};

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
  const { isBusy, failure, run } = useAction();
  if (!may("train")) return null;
  const change = async (): Promise<void> => {
    if (!confirm(questions[isOn ? "off" : "on"])) return;
    await (isOn ? hone.learning.turnOff(id) : hone.learning.turnOn(id, {}));
    onChange();
  };
  return (
    <>
      <button type="button" disabled={isBusy} onClick={() => run(change)}>
        {isOn ? "Turn off" : "Turn on"}
      </button>
      <Failure of={failure} />
    </>
  );
}
