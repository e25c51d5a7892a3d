// Transfers files to and from a bucket in pieces. Each piece is an object that is retried and verified separately.
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { flush } from "../flush.ts";
import { sealMismatchError } from "../seal.ts";
import { forEachConcurrently } from "./for-each-concurrently.ts";
import { readsMax, type BucketClient } from "./bucket-client.ts";
import { type FileManifest, hashOfPiece, pieceBytes } from "./manifest.ts";

/**
 * Stores a file in pieces.
 *
 * @param to prefix of the keys of the pieces
 * @param name name of the file in the manifest
 */
export async function storeFile(
  bucket: BucketClient,
  to: string,
  { path, name }: { readonly path: string; readonly name: string },
): Promise<FileManifest> {
  const { size: byteCount } = await stat(path);
  const pieces: string[] = Array.from({ length: Math.ceil(byteCount / pieceBytes) });
  const handle = await open(path);
  try {
    await forEachConcurrently(pieces.keys(), async (index) => {
      const start = index * pieceBytes;
      const bytes = new Uint8Array(Math.min(pieceBytes, byteCount - start));
      await readWhole(handle, bytes, start);
      pieces[index] = hashOfPiece(bytes);
      await bucket.write(keyOfPiece(to, name, index), bytes);
    });
  } finally {
    await handle.close();
  }
  return { name, byteCount, pieces };
}

/**
 * Fetches the files of an artifact, writes them to a path and flushes them.
 *
 * @returns false if a piece is missing because the artifact was replaced or removed
 * @throws ServiceError `conflict` if a piece is damaged
 */
export async function fetchFiles(
  bucket: BucketClient,
  from: string,
  { path, files }: { readonly path: string; readonly files: readonly FileManifest[] },
): Promise<boolean> {
  let isWhole = true;
  for (const { name, byteCount, pieces } of files) {
    const target = join(path, name);
    const handle = await open(target, "w");
    try {
      await handle.truncate(byteCount);
      await forEachConcurrently(pieces.entries(), async ([index, hash]) => {
        const key = keyOfPiece(from, name, index);
        const bytes = await bucket.readUntil(key, (read) => read === null || hashOfPiece(read) === hash);
        if (bytes === null) isWhole = false;
        else if (hashOfPiece(bytes) !== hash)
          throw sealMismatchError(
            "artifact",
            `${JSON.stringify(key)} in the bucket has other bytes, also when read ${readsMax} times`,
          );
        else await handle.write(bytes, 0, bytes.length, index * pieceBytes);
      });
    } finally {
      await handle.close();
    }
    if (!isWhole) return false;
    await flush(target);
  }
  return true;
}

function keyOfPiece(start: string, name: string, index: number): string {
  const file = name === "" ? "file" : name;
  return `${start}/${file}${index === 0 ? "" : `.${index}`}`;
}

async function readWhole(
  handle: Awaited<ReturnType<typeof open>>,
  bytes: Uint8Array,
  start: number,
): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesRead } = await handle.read(bytes, done, bytes.length - done, start + done);
    if (bytesRead === 0) throw new Error("A file became shorter while it was stored.");
    done += bytesRead;
  }
}
