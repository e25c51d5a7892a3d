// A dialog that is open while it is rendered. Escape, its button and the browser's back key close it.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "../icon.tsx";

export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <div class="section-head">
        <h2 id={id}>{title}</h2>
        <button
          type="button"
          class="plain icon-only"
          aria-label="Close"
          onClick={() => dialog.current?.close()}
        >
          <Icon of="close" />
        </button>
      </div>
      {children}
    </dialog>
  );
}
