// For tests: a SQLite file with pages that a disk gave back as something else.
import { readFileSync, writeFileSync } from "node:fs";
import { assert } from "../../../base/domain/assert.ts";

/** As SQLite writes it on a new file. */
const pageBytes = 4096;

/** Overwrites the pages that hold a text. The file is nobody's, and its log is in it. */
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
