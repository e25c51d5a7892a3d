// The list from which the user opened a row. The address of the row's view contains the address of the list, so that
// the links to the next row and back to the list survive a reload.
import { addressOf, type Place, place, placeOf } from "../router.ts";

/** Name of the query parameter with the list's address. */
const name = "from";

/**
 * Returns the query that links from the current list to its rows need.
 *
 * @param more parameters of the list that its address leaves out, such as the project that the list shows by default
 */
export function fromHere(more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const { view, parts, query } = place.value;
  const list = addressOf(view, parts, { ...Object.fromEntries(query), ...more });
  return { [name]: list.replace(/^#\//, "") };
}

/** Returns the query that links from the current row to its neighbours need. */
export function sameList(): Readonly<Record<string, string>> {
  return { [name]: place.value.query.get(name) ?? "" };
}

/** A list of rows, and its link. */
export interface ListPlace extends Place {
  readonly address: string;
}

/**
 * Returns the list that the address of the current row names.
 *
 * @param usual address of the list if the address names none
 */
export function listPlace(usual: string): ListPlace {
  const from = place.value.query.get(name);
  const address = from === null ? usual : `#/${from}`;
  return { ...placeOf(address), address };
}
