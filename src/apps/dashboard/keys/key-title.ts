// The name of a key in all lists. Has no side effects.
import type { Key } from "../../client/api.ts";
import { shortId } from "../components/short-id.ts";

/** Returns a key's name; without a name, the short id that all lists show. */
export function keyTitle({ id, name }: Pick<Key, "id"> & Partial<Pick<Key, "name">>): string {
  return name ?? `key ${shortId(id)}`;
}

/** Returns a key's short id, or the name of a user who signed in without a key. */
export function keyText(id: string | null): string {
  if (id === null) return "–";
  return id.startsWith("user:") ? id.slice("user:".length) : keyTitle({ id });
}
