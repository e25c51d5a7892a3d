// A button that opens a small panel. Escape, and a click or focus elsewhere, close the panel.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Menu({
  label,
  children,
}: {
  readonly label: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const closeOutside = ({ target }: Event): void => {
      if (menu.current?.open && target instanceof Node && !menu.current.contains(target))
        menu.current.open = false;
    };
    addEventListener("pointerdown", closeOutside);
    addEventListener("focusin", closeOutside);
    return () => {
      removeEventListener("pointerdown", closeOutside);
      removeEventListener("focusin", closeOutside);
    };
  }, []);
  return (
    <details
      class="menu"
      ref={menu}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || menu.current === null) return;
        menu.current.open = false;
        menu.current.querySelector("summary")?.focus();
      }}
    >
      <summary class="button">{label}</summary>
      <div class="menu-panel">{children}</div>
    </details>
  );
}
