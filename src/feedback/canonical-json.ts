// One text for equal JSON values: keys in order, no spaces. For hashing, not for showing.
import { hash } from "node:crypto";
import type { Json } from "../domain/trajectory.ts";

/** The same text for values that differ only in the order of their keys. */
export function canonicalJson(value: Json): string {
  return isInOrder(value) ? JSON.stringify(value) : inOrder(value);
}

/** Whether all objects have their keys in order: then what is built in writes the text, many times faster. */
function isInOrder(value: Json): boolean {
  if (value === null || typeof value !== "object") return true;
  if (Array.isArray(value)) return value.every((item: Json) => isInOrder(item));
  let earlier: string | null = null;
  for (const [key, item] of Object.entries(value)) {
    if ((earlier !== null && key < earlier) || !isInOrder(item)) return false;
    earlier = key;
  }
  return true;
}

function inOrder(value: Json): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item: Json) => inOrder(item)).join(",")}]`;
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${fields.map(([key, item]) => `${JSON.stringify(key)}:${inOrder(item)}`).join(",")}}`;
}

/** Hex SHA-256 of the canonical text. */
export function jsonHash(value: Json): string {
  return hash("sha256", canonicalJson(value));
}
