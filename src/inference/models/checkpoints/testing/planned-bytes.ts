// Reads the bytes of planned files, for tests.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { unreachable } from "../../../../base/domain/assert.ts";
import { mergeRows } from "../merge-rows.ts";
import type { FilePart, PlannedFile } from "../row-parts.ts";

/** Returns a planned file's bytes. */
export function fileBytes({ name, byteCount, parts }: PlannedFile): Buffer {
  const bytes = Buffer.concat(parts.map(partBytes));
  assert.equal(bytes.length, byteCount, name);
  return bytes;
}

function partBytes(part: FilePart): Uint8Array {
  switch (part.kind) {
    case "made":
      return part.bytes;
    case "merged":
      return mergeRows(part.rows);
    case "copied":
      return readFileSync(part.file).subarray(part.start, part.end);
    default:
      return unreachable(part);
  }
}
