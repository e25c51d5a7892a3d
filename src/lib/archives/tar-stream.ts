// Creates a tar archive while it is read, so that only the chunk being sent is in memory.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { Header } from "tar";
import { assert } from "../../base/domain/assert.ts";
import { requirePlainFile } from "../../base/domain/transient-errors/plain-file.ts";

export interface ArchivedFile {
  /** File name of at most 100 bytes, without folders. */
  readonly name: string;
  readonly byteCount: number;
  /** Yields exactly `byteCount` bytes in total. */
  readonly pieces: () => AsyncIterable<Uint8Array>;
}

/**
 * Returns a file on disk as a file for an archive; its content is read when it is sent.
 *
 * @throws ServiceError `invalid` unless it is a plain file; errors of the file system
 */
export async function fileToArchive(path: string): Promise<ArchivedFile> {
  const found = await stat(path);
  requirePlainFile(path, found);
  return { name: basename(path), byteCount: found.size, pieces: () => createReadStream(path) };
}

const blockBytes = 512;

/** Returns the size in bytes of an archive of these files. */
export function tarByteCount(files: readonly Pick<ArchivedFile, "byteCount">[]): number {
  const ofFiles = files.map(({ byteCount }) => blockBytes + byteCount + paddingOf(byteCount));
  return ofFiles.reduce((sum, bytes) => sum + bytes, 2 * blockBytes);
}

/** Yields the archive. All entries have the time `modifiedAt`, so the same files give the same bytes. */
export async function* tarOf(
  files: readonly ArchivedFile[],
  modifiedAt: Date,
): AsyncGenerator<Uint8Array, void> {
  for (const { name, byteCount, pieces } of files) {
    yield headerOf(name, byteCount, modifiedAt);
    let left = byteCount;
    for await (const piece of pieces()) {
      left -= piece.length;
      yield piece;
    }
    assert(left === 0, `${name} has as many bytes as were announced`);
    yield new Uint8Array(paddingOf(byteCount));
  }
  yield new Uint8Array(2 * blockBytes);
}

function headerOf(name: string, size: number, mtime: Date): Uint8Array {
  assert(Buffer.byteLength(name) <= 100, `the name ${name} fits in a header`);
  const block = Buffer.alloc(blockBytes);
  new Header({ path: name, size, mtime, mode: 0o644, type: "File", uid: 0, gid: 0 }).encode(block, 0);
  return block;
}

function paddingOf(byteCount: number): number {
  return (blockBytes - (byteCount % blockBytes)) % blockBytes;
}
