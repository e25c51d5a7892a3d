// The current view, which the part of the URL after `#` identifies. Links and the browser's history therefore work,
// although the server serves a single page.
import { signal } from "@preact/signals";

export interface Place {
  /** Name of the view, such as `models`; empty for the overview. */
  readonly view: string;
  /** Decoded path segments after the view's name. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

export const place = signal<Place>(placeOf(location.hash));

/** Parses the part of a URL from `#`, such as `#/models/m-1?after=2`. */
export function placeOf(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [view = "", ...parts] = path.split("/").filter((part) => part !== "");
  return { view, parts: parts.map(decoded), query: new URLSearchParams(query) };
}

/** Returns the link to a view. */
export function addressOf(
  view: string,
  parts: readonly string[] = [],
  query: Readonly<Record<string, string>> = {},
): string {
  const path = [view, ...parts.map(encodeURIComponent)].filter((part) => part !== "").join("/");
  const given = Object.entries(query).filter(([, value]) => value !== "");
  return `#/${path}${given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`}`;
}

export function go(address: string): void {
  location.hash = address;
}

/**
 * Changes the query of the current view, without a new entry in the browser's history. Does nothing if the user has just
 * left the view: until the event `hashchange`, only the browser's address knows.
 */
export function replaceQuery(change: (query: URLSearchParams) => void): void {
  const { view, parts, query } = place.value;
  const next = placeOf(location.hash);
  if (addressOf(next.view, next.parts) !== addressOf(view, parts)) return;
  const changed = new URLSearchParams(query);
  change(changed);
  const text = changed.toString();
  history.replaceState(null, "", `${addressOf(view, parts)}${text === "" ? "" : `?${text}`}`);
  place.value = placeOf(location.hash);
}

export function followAddress(): void {
  addEventListener("hashchange", () => (place.value = placeOf(location.hash)));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
