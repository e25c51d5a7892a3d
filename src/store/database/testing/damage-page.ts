// For tests: corrupts pages of a SQLite file, as a failing disk would.
import { readFileSync, writeFileSync } from "node:fs";
import { assert } from "../../../base/domain/assert.ts";

/** Page size of a new SQLite file in bytes. */
const pageBytes = 4096;

/**
 * Overwrites the pages that contain a text. The file must not be open, and its write-ahead log must be checkpointed.
 */
export function damagePagesOf(file: string, text: string): void {
  const bytes = readFileSync(file);
  let count = 0;
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1), count++) {
    const page = Math.floor(at / pageBytes);
    bytes.fill(0xff, page * pageBytes, (page + 1) * pageBytes);
  }
  assert(count > 0, "the text is in the file");
  writeFileSync(file, bytes);
}
