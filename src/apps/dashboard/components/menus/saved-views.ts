// Views that the user saved under a name, such as a list with filters. They are stored in this browser, separately for
// each owner of a key, since filters may quote conversations.
import { effect, signal } from "@preact/signals";
import { ownName } from "../../session.ts";

export interface SavedView {
  readonly name: string;
  /** Part of the URL from `#`. */
  readonly address: string;
}

/** Maximum number of saved views; saving another one drops the oldest. */
const viewsMax = 50;

export const savedViews = signal<readonly SavedView[]>([]);

effect(() => {
  savedViews.value = storedViews();
});

/** Saves a view. Replaces a view of the same list that has this name. */
export function saveView(view: SavedView): void {
  store([...savedViews.value.filter((other) => !isSame(other, view)), view].slice(-viewsMax));
}

export function forgetView(view: SavedView): void {
  store(savedViews.value.filter((other) => !isSame(other, view)));
}

/** Returns the part of an address that names the list, without its query. */
export function listOf(address: string): string {
  return address.split("?", 1)[0] ?? "";
}

function isSame(one: SavedView, other: SavedView): boolean {
  return one.name === other.name && listOf(one.address) === listOf(other.address);
}

function store(views: readonly SavedView[]): void {
  savedViews.value = views;
  localStorage.setItem(ownName("hone-views"), JSON.stringify(views));
}

/** Returns the user's stored views; none if the browser's storage has been changed by other code. */
function storedViews(): readonly SavedView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(ownName("hone-views")) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isView) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is SavedView {
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    typeof value.name === "string" &&
    "address" in value &&
    typeof value.address === "string" &&
    value.address.startsWith("#/")
  );
}
