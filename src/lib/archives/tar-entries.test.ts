// Compares entries with those that tar's own reader finds, in archives with every kind of entry in any order.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import * as fc from "fast-check";
import { Parser, type ReadEntry } from "tar";
import { ArchiveBytes } from "./archive-bytes.ts";
import { tarEntries } from "./tar-entries.ts";
import { tarEnd, tarEntry, tarHeader } from "./testing/hostile-archives.ts";
import { searching } from "../../base/domain/testing/search.ts";

/** A file of an archive: its path and content. */
type Found = readonly [path: string, content: string];

async function found(archive: Buffer, pieceBytes: number): Promise<readonly Found[]> {
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    for (let from = 0; from < archive.length; from += pieceBytes)
      yield archive.subarray(from, from + pieceBytes);
  };
  const files: Found[] = [];
  for await (const { path, isFile, content } of tarEntries(new ArchiveBytes(pieces()), { bytesMax: 1e9 }))
    if (isFile) files.push([path, await textOf(content())]);
  return files;
}

async function foundByTar(archive: Buffer): Promise<readonly Found[]> {
  const files: Promise<Found>[] = [];
  const add = (entry: ReadEntry): void => {
    const isFile = ["File", "OldFile", "ContiguousFile"].includes(entry.type);
    if (isFile) files.push(textOf(entry).then((text) => [entry.path, text]));
    else entry.resume();
  };
  const parser = new Parser({ strict: true, onReadEntry: add });
  const ended = once(parser, "end");
  parser.end(archive);
  await ended;
  return Promise.all(files);
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

/** Returns a record of an extended header. A record begins with its own length. */
function record(field: string, value: string | number): string {
  const text = ` ${field}=${value}\n`;
  const lengthOf = (digits: number): number => digits + Buffer.byteLength(text);
  const digits = String(lengthOf(String(lengthOf(1)).length)).length;
  return `${lengthOf(digits)}${text}`;
}

const name = fc.stringMatching(/^[a-zé/.]{0,20}[a-z]$/);
const content = fc.string({ maxLength: 1500, unit: "binary" });
/** Entries that describe the entry after them, with a path of any length. */
const description = fc.oneof(
  fc
    .record({ type: fc.constantFrom("x", "X", "g"), path: name, times: fc.nat(60) })
    .map(({ type, path, times }) =>
      tarEntry("pax", record("path", path.repeat(times + 1)) + record("comment", "c"), { type }),
    ),
  name.map((path) => tarEntry("long", `${path.repeat(30)}\0`, { type: "L" })),
  name.map((path) => tarEntry("link", `${path}\0`, { type: "K" })),
  fc.constantFrom("x", "g").map((type) => tarEntry("empty", "", { type })),
);
const described = fc.oneof(
  fc
    .record({ path: name, type: fc.constantFrom("0", "\0", "7", "D", "V"), text: content })
    .map(({ path, type, text }) => tarEntry(path, text, { type })),
  // Files with a size in an extended header, which overrides the size in the file's own header.
  fc
    .record({ path: name, text: content })
    .map(({ path, text }) =>
      Buffer.concat([
        tarEntry("pax", record("size", Buffer.byteLength(text)), { type: "x" }),
        tarEntry(path, text, { byteCount: 7 }),
      ]),
    ),
  // Folders have no content, even if their header gives a size.
  name.map((path) => tarHeader(path, 4096, "5")),
  name.map((path) => tarHeader(`${path}/`, 0, "0")),
);
const archives = fc
  .array(fc.tuple(fc.array(description, { maxLength: 3 }), described), { minLength: 1, maxLength: 8 })
  .map((entries) => Buffer.concat([...entries.flatMap(([before, one]) => [...before, one]), tarEnd]));

test("finds the files that tar's own reader finds, with any descriptions", async () => {
  await fc.assert(
    fc.asyncProperty(archives, fc.integer({ min: 100, max: 5000 }), async (archive, pieceBytes) => {
      assert.deepEqual(await found(archive, pieceBytes), await foundByTar(archive));
    }),
    searching(100),
  );
});
