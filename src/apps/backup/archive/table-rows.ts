// Format of the file with a table's rows: gzipped JSON Lines. Each line is one row: an array of values in the order of
// the columns.
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import type { Cell } from "../../../base/domain/backup/tables.ts";
import { damaged } from "./archive-reader.ts";

/**
 * Compression level. JSON rows compress well even at a low level. A higher level would take CPU time from a running
 * server.
 */
const level = 3;
/** Maximum length of a line in bytes. A row has at most a few megabytes, so a longer line is invalid. */
const lineBytesMax = 1 << 28;
/** Maximum number of rows and of bytes in a page; a page ends when it reaches either. */
const [rowsMax, bytesMax] = [1000, 1 << 20];

export type Rows = readonly (readonly Cell[])[];

/** Yields the compressed bytes of the rows, and calls `count` with the number of rows in each page. */
export async function* packedRows(
  pages: AsyncIterable<Rows>,
  count: (rows: number) => void,
): AsyncGenerator<Uint8Array, void> {
  const gzip = createGzip({ level });
  const done = pipeline(linesOf(pages, count), gzip);
  // Prevents an unhandled rejection. The error is thrown while the bytes are read, or at the end of this function.
  done.catch(() => undefined);
  yield* gzip as AsyncIterable<Buffer>;
  await done;
}

async function* linesOf(
  pages: AsyncIterable<Rows>,
  count: (rows: number) => void,
): AsyncGenerator<string, void> {
  for await (const page of pages) {
    count(page.length);
    yield page.map((row) => `${JSON.stringify(row)}\n`).join("");
  }
}

/**
 * Yields the rows of a compressed file in pages of about a megabyte.
 *
 * @param bytes compressed bytes of the file; they are always read to the end
 * @param path path of the file for messages
 * @param columnCount number of values in each row
 * @throws ServiceError `invalid` for invalid rows; errors that occur while `bytes` are read
 */
export async function* unpackedRows(
  bytes: AsyncIterable<Uint8Array>,
  { path, columnCount }: { readonly path: string; readonly columnCount: number },
): AsyncGenerator<Rows, void> {
  let page: (readonly Cell[])[] = [];
  let size = 0;
  for await (const line of linesIn(unzipped(bytes, path), path)) {
    page.push(rowIn(line, path, columnCount));
    size += line.length;
    if (page.length < rowsMax && size < bytesMax) continue;
    yield page;
    [page, size] = [[], 0];
  }
  if (page.length > 0) yield page;
}

async function* unzipped(bytes: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<Buffer, void> {
  const gunzip = createGunzip();
  let failure: unknown = null;
  const guarded = async function* (): AsyncGenerator<Uint8Array, void> {
    try {
      yield* bytes;
    } catch (error) {
      failure = error;
      throw error;
    }
  };
  const done = pipeline(guarded(), gunzip);
  done.catch(() => undefined);
  try {
    yield* gunzip as AsyncIterable<Buffer>;
    // Reads the file to its end, even after the compressed data, so that the file's hash is verified.
    await done;
  } catch (error) {
    throw failure ?? damaged(path, "it cannot be unzipped", error);
  }
}

async function* linesIn(pieces: AsyncIterable<Buffer>, path: string): AsyncGenerator<string, void> {
  let begun: Buffer[] = [];
  let size = 0;
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, from)) {
      yield Buffer.concat([...begun, piece.subarray(from, end)]).toString();
      [begun, size, from] = [[], 0, end + 1];
    }
    if (from === piece.length) continue;
    begun.push(piece.subarray(from));
    size += piece.length - from;
    if (size > lineBytesMax) throw damaged(path, `a row has more than ${lineBytesMax} bytes`);
  }
  if (size > 0) throw damaged(path, "it ends within a row");
}

function rowIn(line: string, path: string, columnCount: number): readonly Cell[] {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch (cause) {
    throw damaged(path, "one of its lines is not JSON", cause);
  }
  if (!Array.isArray(row) || row.length !== columnCount || !row.every(isCell))
    throw damaged(path, `one of its lines does not have ${columnCount} values`);
  return row;
}

function isCell(value: unknown): value is Cell {
  return value === null || typeof value === "string" || Number.isFinite(value);
}
