// Exports all selected rows as JSON lines or as an Apache Parquet file. Each part of the file is produced only when the
// client reads it.
import type { WrittenGroup } from "../../wire/trajectories/parquet.ts";
import type { RowReader } from "./row-reader.ts";
import type { RowChunk } from "./source-rows.ts";

/** Yields the rows as JSON lines. */
export async function* jsonLines(chunks: AsyncIterable<RowChunk>): AsyncGenerator<Uint8Array, void> {
  for await (const { bytes } of chunks) if (bytes.length > 0) yield bytes;
}

/** Approximate size in bytes of a Parquet row group as JSON. It limits the memory that an export takes. */
const rowGroupBytes = 8 * 1024 * 1024;

/** First bytes of every Parquet file. */
const parquetMagic = new TextEncoder().encode("PAR1");

/** Yields the rows as a Parquet file. */
export async function* parquetFile(
  chunks: AsyncIterable<RowChunk>,
  reader: RowReader,
  client: string,
): AsyncGenerator<Uint8Array, void> {
  const written: WrittenGroup[] = [];
  let offset = parquetMagic.length;
  yield parquetMagic;
  for await (const lines of rowGroups(chunks)) {
    const { bytes, group } = await reader.run("row group", { lines, offset }, client);
    written.push(group);
    offset += bytes.length;
    yield bytes;
  }
  yield (await reader.run("parquet end", { groups: written, offset }, client)).bytes;
}

async function* rowGroups(
  chunks: AsyncIterable<RowChunk>,
): AsyncGenerator<readonly Uint8Array<ArrayBuffer>[], void> {
  let lines: Uint8Array<ArrayBuffer>[] = [];
  let byteCount = 0;
  for await (const { bytes } of chunks) {
    if (bytes.length === 0) continue;
    lines.push(bytes);
    byteCount += bytes.length;
    if (byteCount < rowGroupBytes) continue;
    yield lines;
    lines = [];
    byteCount = 0;
  }
  if (lines.length > 0) yield lines;
}
