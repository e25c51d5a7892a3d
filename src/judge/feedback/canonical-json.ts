// Canonical JSON, with sorted keys and without spaces. It is for hashing, not for display.
import { hash } from "node:crypto";
import type { Json, JsonObject } from "../../base/domain/text/json.ts";

/** Returns the canonical JSON of a value: the same text for values that differ only in key order. */
export function canonicalJson(value: Json): string {
  return isInOrder(value) ? JSON.stringify(value) : inOrder(value);
}

/**
 * True if the keys of all objects in the value are already sorted. `JSON.stringify` then produces the canonical text,
 * in less than half the time.
 */
function isInOrder(value: Json): boolean {
  if (value === null || typeof value !== "object") return true;
  if (Array.isArray(value)) return value.every((item: Json) => isInOrder(item));
  const object = value as JsonObject;
  let earlier = "";
  for (const key of Object.keys(object)) {
    if (key < earlier || !isInOrder(object[key])) return false;
    earlier = key;
  }
  return true;
}

function inOrder(value: Json): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item: Json) => inOrder(item)).join(",")}]`;
  const object = value as JsonObject;
  const fields = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${inOrder(object[key])}`);
  return `{${fields.join(",")}}`;
}

/** Returns the hex SHA-256 of a value's canonical JSON. */
export function jsonHash(value: Json): string {
  return textHash(canonicalJson(value));
}

/** Returns the hex SHA-256 of a text. */
export function textHash(text: string): string {
  return hash("sha256", text);
}
