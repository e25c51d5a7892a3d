// A tar archive made as it is read: nothing of a file is in memory but the piece that is sent.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { Header } from "tar";
import { assert } from "../../base/domain/assert.ts";
import { requirePlainFile } from "../../base/domain/transient-errors/plain-file.ts";

export interface ArchivedFile {
  /** At most 100 bytes, without folders. */
  readonly name: string;
  readonly byteCount: number;
  /** Together so many bytes. */
  readonly pieces: () => AsyncIterable<Uint8Array>;
}

/** A file of the disk; read as it is taken. @throws ServiceError `invalid` unless it is a plain file; what the system says */
export async function fileToArchive(path: string): Promise<ArchivedFile> {
  const found = await stat(path);
  requirePlainFile(path, found);
  return { name: basename(path), byteCount: found.size, pieces: () => createReadStream(path) };
}

const blockBytes = 512;

/** How many bytes the archive of these files has. */
export function tarByteCount(files: readonly Pick<ArchivedFile, "byteCount">[]): number {
  const ofFiles = files.map(({ byteCount }) => blockBytes + byteCount + paddingOf(byteCount));
  return ofFiles.reduce((sum, bytes) => sum + bytes, 2 * blockBytes);
}

/** The archive, whose times are all `modifiedAt`: the same files give the same bytes. */
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
