// Keeps the keyboard's place in the page when the focused element disappears or becomes disabled, for example with the row
// of a deleted object. The next Tab then continues nearby, and not at the beginning of the page.

/** Focused element and the elements around it, from inner to outer; empty if the user has left it. */
let path: readonly Element[] = [];

export function keepFocus(): void {
  addEventListener("focusin", ({ target }) => {
    if (target instanceof Element) path = pathOf(target);
  });
  addEventListener("focusout", () => {
    // The browser sends this event also when it removes the element.
    queueMicrotask(() => {
      if (document.activeElement === document.body && !isLost()) path = [];
    });
  });
  new MutationObserver(() => {
    if (!isLost()) return;
    const near = path.find((around) => around.isConnected && around.matches("[tabindex], dialog[open]"));
    path = [];
    if (near instanceof HTMLElement) near.focus({ preventScroll: true });
  }).observe(document.body, { subtree: true, childList: true, attributeFilter: ["disabled"] });
}

/** True if the user's last focused element is gone, disabled or in a closed dialog, and no other element has the focus. */
function isLost(): boolean {
  const [last] = path;
  const { activeElement: focused } = document;
  if (last === undefined || (focused !== document.body && focused !== last)) return false;
  return !last.isConnected || last.matches(":disabled, dialog:not([open]), dialog:not([open]) *");
}

function pathOf(element: Element): readonly Element[] {
  const around: Element[] = [];
  for (let one: Element | null = element; one !== null; one = one.parentElement) around.push(one);
  return around;
}
