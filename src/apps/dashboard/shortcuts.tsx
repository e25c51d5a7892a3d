// Keyboard shortcuts of the page and of the current view. `?` lists the active ones.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { addressOf, go } from "./router.ts";

export interface Shortcut {
  /** Key as in `KeyboardEvent.key`; a sequence of two keys is separated by a space. */
  readonly keys: string;
  readonly does: string;
  readonly run: () => void;
}

const isHelpOpen = signal(false);
const ofViews = signal<readonly Shortcut[]>([]);
let firstKey = "";
/** Maximum time between two keys of a sequence, in milliseconds. */
const patienceMs = 1500;

const ofAll: readonly Shortcut[] = [
  { keys: "?", does: "show keyboard shortcuts", run: openShortcutHelp },
  { keys: "g o", does: "overview", run: () => go(addressOf("")) },
  { keys: "g m", does: "models", run: () => go(addressOf("models")) },
  { keys: "g j", does: "jobs", run: () => go(addressOf("jobs")) },
  { keys: "g h", does: "conversations", run: () => go(addressOf("conversations")) },
  { keys: "g t", does: "trajectories", run: () => go(addressOf("trajectories")) },
  { keys: "g f", does: "feedback", run: () => go(addressOf("feedback")) },
  { keys: "g q", does: "queues", run: () => go(addressOf("queues")) },
  { keys: "g c", does: "chat", run: () => go(addressOf("chat")) },
  { keys: "g k", does: "keys and usage", run: () => go(addressOf("usage")) },
  { keys: "j", does: "next row", run: () => moveRow(1) },
  { keys: "k", does: "previous row", run: () => moveRow(-1) },
];

/** Keys of views that are not open. The help shows them too, because users look for keys before they open a view. */
const ofOtherViews: readonly Omit<Shortcut, "run">[] = [
  { keys: "n p u", does: "conversation, trajectory: next, previous, up to the list" },
  { keys: "1 … 5", does: "conversation, trajectory: react; queue: answer" },
  { keys: "+ − c", does: "conversation, trajectory: thumbs up, thumbs down, write a note" },
  { keys: "y n s u", does: "queue: answer yes or no, skip the item, undo the last answer" },
];

export function openShortcutHelp(): void {
  isHelpOpen.value = true;
}

/** Registers shortcuts while the view is open. */
export function useShortcuts(shortcuts: readonly Shortcut[], given: readonly unknown[] = []): void {
  // A layout effect runs before the next key press can arrive.
  useLayoutEffect(() => {
    ofViews.value = [...ofViews.value, ...shortcuts];
    return () => {
      ofViews.value = ofViews.value.filter((shortcut) => !shortcuts.includes(shortcut));
    };
  }, given);
}

export function followKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    // An open dialog handles keys itself.
    if (document.querySelector("dialog[open]") !== null) return;
    const pressed = firstKey === "" ? event.key : `${firstKey} ${event.key}`;
    firstKey = "";
    const all = [...ofViews.value, ...ofAll];
    const found = all.find(({ keys }) => keys === pressed) ?? all.find(({ keys }) => keys === event.key);
    if (found !== undefined) {
      event.preventDefault();
      found.run();
    } else if (all.some(({ keys }) => keys.startsWith(`${event.key} `))) {
      firstKey = event.key;
      setTimeout(() => (firstKey = ""), patienceMs);
    }
  });
}

/** Moves the focus to the next or previous row of the view. Enter then follows the row's link. */
function moveRow(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>("[data-row]")];
  const index = links.findIndex((link) => link === document.activeElement);
  links[index === -1 ? 0 : Math.max(0, Math.min(links.length - 1, index + by))]?.focus();
}

/** True if keys that the user presses in this element are part of its value. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

export function ShortcutHelp() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = isHelpOpen.value;
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} aria-labelledby="keys" onClose={() => (isHelpOpen.value = false)}>
      <h2 id="keys">Keyboard shortcuts</h2>
      <dl class="keys">
        {[...ofAll, ...(ofViews.value.length === 0 ? ofOtherViews : ofViews.value)].map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => (isHelpOpen.value = false)}>
        Close
      </button>
    </dialog>
  );
}
