// Dialog with one form. It runs one submission at a time, and shows the message of its error above the button.
import type { ComponentChildren } from "preact";
import { Dialog } from "./dialog.tsx";
import { Failure } from "./failure.tsx";
import { useAction } from "./use-action.ts";

export function FormDialog({
  title,
  button = "Create",
  onSubmit,
  onClose,
  children,
}: {
  readonly title: string;
  /** Text of the button that submits the form. */
  readonly button?: string;
  readonly onSubmit: (form: HTMLFormElement) => Promise<void>;
  readonly onClose: () => void;
  /** Fields of the form. */
  readonly children: ComponentChildren;
}) {
  const { isBusy, failure, run } = useAction();
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          run(() => onSubmit(form));
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
