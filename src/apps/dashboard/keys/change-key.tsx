// Dialog that changes the name and the limits of a key.
import type { Key } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { FormDialog } from "../components/forms/form-dialog.tsx";
import { textOrNull } from "../components/forms/form-values.ts";
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
  const save = async (form: HTMLFormElement): Promise<void> => {
    await hone.keys.change(subject.id, { name: textOrNull(form, "name"), ...limitsIn(form) });
    onClose();
  };
  return (
    <FormDialog
      title="Change the key"
      needs="administer"
      button="Save"
      done="Key saved."
      onSubmit={save}
      onClose={onClose}
    >
      <label>
        Name
        <input name="name" maxLength={128} defaultValue={subject.name ?? ""} />
      </label>
      <LimitFields of={subject} />
    </FormDialog>
  );
}
