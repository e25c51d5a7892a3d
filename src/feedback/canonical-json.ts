// One text for equal JSON values: keys in order, no spaces. For hashing, not for showing.
import { createHash } from "node:crypto";
import type { Json } from "../domain/trajectory.ts";

/** The same text for values that differ only in the order of their keys. */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonicalJson(item)).join(",")}]`;
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${fields.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(",")}}`;
}

/** Hex SHA-256 of the canonical text. */
export function jsonHash(value: Json): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}
