// A dialog that is open while it is rendered. Escape, its button and the browser's back key close it.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "../icon.tsx";

export function Dialog({
  title,
  mayClose = () => true,
  hasClose = true,
  onClose,
  children,
}: {
  readonly title: string;
  /** Called before the user closes the dialog. It returns false to keep the dialog open. */
  readonly mayClose?: () => boolean;
  /** False for a dialog whose content has the button that closes it. */
  readonly hasClose?: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isRendered = useRef(true);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      isRendered.current = false;
      // The browser returns the focus only if a dialog closes before it is removed.
      const isCovered = document.querySelector("dialog[open]") !== null;
      if (!isCovered && opener instanceof HTMLElement && opener.isConnected)
        opener.focus({ preventScroll: true });
    };
  }, []);
  const keepOpen = (event: Event): void => {
    if (!mayClose()) event.preventDefault();
  };
  const onClosed = (): void => {
    if (!isRendered.current) return;
    // Browsers close a dialog despite `keepOpen` if the user presses the back key twice.
    if (mayClose()) onClose();
    else dialog.current?.showModal();
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onKeyDown={(event) => event.key === "Escape" && keepOpen(event)}
      onCancel={(event) => event.target === event.currentTarget && keepOpen(event)}
      onClose={onClosed}
    >
      <div class="section-head">
        <h2 id={id}>{title}</h2>
        {hasClose && (
          <button
            type="button"
            class="plain icon-only"
            aria-label="Close"
            onClick={() => mayClose() && dialog.current?.close()}
          >
            <Icon of="close" />
          </button>
        )}
      </div>
      {children}
    </dialog>
  );
}
