// Dialog that changes the name and the limits of a key.
import type { Key } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Dialog } from "../components/forms/dialog.tsx";
import { Failure } from "../components/forms/failure.tsx";
import { textOrNull } from "../components/forms/form-values.ts";
import { useAction } from "../components/forms/use-action.ts";
import { LimitFields, limitsIn } from "./limit-fields.tsx";

export function ChangeKey({
  hone,
  subject,
  onClose,
}: {
  readonly hone: Hone;
  readonly subject: Key;
  readonly onClose: () => void;
}) {
  const { isBusy, failure, run } = useAction();
  const save = async (form: HTMLFormElement): Promise<void> => {
    await hone.keys.change(subject.id, { name: textOrNull(form, "name"), ...limitsIn(form) });
    onClose();
  };
  return (
    <Dialog title="Change the key" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          run(() => save(form));
        }}
      >
        <label>
          Name
          <input name="name" maxLength={128} defaultValue={subject.name ?? ""} />
        </label>
        <LimitFields of={subject} />
        <Failure of={failure} />
        <button type="submit" disabled={isBusy}>
          Save
        </button>
      </form>
    </Dialog>
  );
}
