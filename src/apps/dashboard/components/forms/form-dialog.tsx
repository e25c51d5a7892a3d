// Dialog with one form, only for keys that may do the action of the form. It runs one submission at a time, and shows the
// message of its error above the button. If the user closes the dialog after typing, the dialog asks first.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Action } from "../../frame/key-access.ts";
import { may } from "../../session.ts";
import { Dialog } from "./dialog.tsx";
import { Failure } from "./failure.tsx";
import { useAction } from "./use-action.ts";

export function FormDialog({
  title,
  needs,
  button = "Create",
  isReady = true,
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
  /** False while choices of the form are loaded. The form cannot be submitted yet. */
  readonly isReady?: boolean;
  /** Message after a success; absent if the result is in sight. */
  readonly done?: string;
  readonly onSubmit: (form: HTMLFormElement) => Promise<void>;
  readonly onClose: () => void;
  /** Fields of the form. */
  readonly children: ComponentChildren;
}) {
  const { isBusy, failure, run } = useAction();
  const hasTyped = useRef(false);
  const [isAsking, setIsAsking] = useState(false);
  const mayClose = (): boolean => {
    // A second Escape answers the question with no.
    if (hasTyped.current) setIsAsking(!isAsking);
    return !hasTyped.current;
  };
  if (!may(needs)) return null;
  return (
    <Dialog title={title} mayClose={mayClose} onClose={onClose}>
      <form
        onInput={() => {
          hasTyped.current = true;
          setIsAsking(false);
        }}
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          run(() => onSubmit(form), done);
        }}
      >
        {children}
        <Failure of={failure} />
        {isAsking ? (
          <DiscardQuestion onKeep={() => setIsAsking(false)} onDiscard={onClose} />
        ) : (
          <button type="submit" disabled={isBusy || !isReady}>
            {button}
          </button>
        )}
      </form>
    </Dialog>
  );
}

function DiscardQuestion({
  onKeep,
  onDiscard,
}: {
  readonly onKeep: () => void;
  readonly onDiscard: () => void;
}) {
  const id = useId();
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  return (
    <div class="row-buttons" role="group" aria-labelledby={id}>
      <span id={id}>Discard what you typed?</span>
      <button ref={keep} type="button" onClick={onKeep}>
        Keep editing
      </button>
      <button type="button" class="danger" onClick={onDiscard}>
        Discard
      </button>
    </div>
  );
}
