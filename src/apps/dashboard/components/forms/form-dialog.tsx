// Dialog with one form, only for keys that may do the action of the form. It runs one submission at a time, and shows the
// message of its error above the button.
import type { ComponentChildren } from "preact";
import type { Action } from "../../frame/key-access.ts";
import { may } from "../../session.ts";
import { Dialog } from "./dialog.tsx";
import { Failure } from "./failure.tsx";
import { useAction } from "./use-action.ts";

export function FormDialog({
  title,
  needs,
  button = "Create",
  done,
  onSubmit,
  onClose,
  children,
}: {
  readonly title: string;
  /** Action of the form. The dialog stays closed for a key that may not do it. */
  readonly needs: Action;
  /** Text of the button that submits the form. */
  readonly button?: string;
  /** Message after a success; absent if the result is in sight. */
  readonly done?: string;
  readonly onSubmit: (form: HTMLFormElement) => Promise<void>;
  readonly onClose: () => void;
  /** Fields of the form. */
  readonly children: ComponentChildren;
}) {
  const { isBusy, failure, run } = useAction();
  if (!may(needs)) return null;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          run(() => onSubmit(form), done);
        }}
      >
        {children}
        <Failure of={failure} />
        <button type="submit" disabled={isBusy}>
          {button}
        </button>
      </form>
    </Dialog>
  );
}
