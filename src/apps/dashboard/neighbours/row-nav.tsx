// Links from a row's view to the rows before and after it in a list, with the keys p and n. The key u leads to the list.
import { go } from "../router.ts";
import { useShortcuts } from "../shortcuts.tsx";

export function RowNav({
  list,
  listName,
  noun,
  previous,
  next,
}: {
  /** Link to the list, for the key u; the breadcrumbs of the view show it. */
  readonly list: string;
  readonly listName: string;
  /** Name of a row, such as `trajectory`. */
  readonly noun: string;
  /** Links to the neighbours; null if there is none, or if it is not known yet. */
  readonly previous: string | null;
  readonly next: string | null;
}) {
  const open = (address: string | null) => (): void => {
    if (address !== null) go(address);
  };
  useShortcuts(
    [
      { keys: "n", does: `next ${noun} of the list`, run: open(next) },
      { keys: "p", does: `previous ${noun} of the list`, run: open(previous) },
      { keys: "u", does: "up to the list", run: open(list) },
    ],
    [list, previous, next],
  );
  return (
    <nav class="links" aria-label={listName}>
      <Step to={previous} name="Previous" />
      <Step to={next} name="Next" />
    </nav>
  );
}

function Step({ to, name }: { readonly to: string | null; readonly name: string }) {
  return to === null ? (
    <button type="button" disabled>
      {name}
    </button>
  ) : (
    <a class="button" href={to}>
      {name}
    </a>
  );
}
