// Form that adds the recorded answers of a model to a queue.
import type { Hone } from "../../client/hone.ts";
import { Failure } from "../components/forms/failure.tsx";
import { textIn } from "../components/forms/form-values.ts";
import { ModelField } from "../components/forms/model-field.tsx";
import { modelNamed } from "../components/forms/model-named.ts";
import { useAction } from "../components/forms/use-action.ts";
import { addedText, say } from "../components/status-message.tsx";
import { may } from "../session.ts";

export function AddAnswers({
  hone,
  queue,
  onAdded,
}: {
  readonly hone: Hone;
  readonly queue: { readonly project_id: string; readonly queue_id: string };
  readonly onAdded: () => void;
}) {
  const { isBusy, failure, run } = useAction();
  if (!may("judge")) return null;
  const add = async (name: string): Promise<void> => {
    const { id: model_id } = await modelNamed(hone, name);
    const { added_count: count, duplicates } = await hone.queues.add(queue, { completions: { model_id } });
    say(count + duplicates === 0 ? "The model has no recorded answers." : addedText(count, duplicates));
    onAdded();
  };
  return (
    <>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          const model = textIn(event.currentTarget, "model");
          run(() => add(model));
        }}
      >
        <ModelField hone={hone} project={queue.project_id} label="Add the recorded answers of" isRequired />
        <button type="submit" disabled={isBusy}>
          Add
        </button>
      </form>
      <Failure of={failure} />
    </>
  );
}
