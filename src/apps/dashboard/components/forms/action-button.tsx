// Button that runs an action, if needed after a question in a dialog. It runs the action once at a time, shows the message
// of its error, and says so if the action succeeded.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { StepsLine } from "../tables/steps-line.tsx";
import { Dialog } from "./dialog.tsx";
import { Failure } from "./failure.tsx";
import { useAction } from "./use-action.ts";

export interface Question {
  /** The question, such as `Delete version 3?`. */
  readonly title: string;
  /** Consequences of the action, such as what will be lost. */
  readonly says: string;
  /** Text of the button that runs the action. */
  readonly button: string;
}

export function ActionButton({
  act,
  asks,
  done,
  class: named,
  label,
  title,
  isOff = false,
  children,
}: {
  readonly act: () => Promise<unknown>;
  /** Question before the action; absent if the button runs the action at once. */
  readonly asks?: Question;
  /** Message after a success, such as `Version 3 deleted.`; absent if the result is in sight. */
  readonly done?: string;
  readonly class?: string;
  /** Name for screen readers; by default the text of the button. */
  readonly label?: string | undefined;
  readonly title?: string | undefined;
  readonly isOff?: boolean;
  readonly children: ComponentChildren;
}) {
  const { isBusy, failure, run } = useAction();
  const [isAsking, setIsAsking] = useState(false);
  return (
    <>
      <button
        type="button"
        class={named}
        disabled={isOff}
        aria-disabled={isBusy}
        aria-label={label}
        title={title}
        onClick={() => !isBusy && (asks === undefined ? run(act, done) : setIsAsking(true))}
      >
        {children}
      </button>
      {asks === undefined || !isAsking ? (
        <Failure of={failure} />
      ) : (
        <Dialog title={asks.title} onClose={() => setIsAsking(false)}>
          <p>{asks.says}</p>
          {isBusy && <StepsLine />}
          <Failure of={failure} />
          <div class="row-buttons">
            <button type="button" autoFocus onClick={(event) => closeAround(event.currentTarget)}>
              Cancel
            </button>
            <button
              type="button"
              class={named?.includes("danger") ? "primary danger" : "primary"}
              disabled={isBusy}
              onClick={({ currentTarget }) =>
                run(async () => {
                  await act();
                  closeAround(currentTarget);
                }, done)
              }
            >
              {asks.button}
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** Closes the dialog around a button. The browser then returns the focus to the element that opened the dialog. */
function closeAround(button: HTMLButtonElement): void {
  button.closest("dialog")?.close();
}
