// The current place: the part of the address after `#`, so that links and history work and the server serves one page.
import { signal } from "@preact/signals";

export interface Place {
  /** Such as `models`; empty for the overview. */
  readonly view: string;
  /** Parts after the view, decoded. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

export const place = signal<Place>(placeOf(location.hash));

/** Parses an address such as `#/models/m-1?after=2`. */
export function placeOf(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [view = "", ...parts] = path.split("/").filter((part) => part !== "");
  return { view, parts: parts.map(decoded), query: new URLSearchParams(query) };
}

/** Returns the address of a view, for links. */
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
