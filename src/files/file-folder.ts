// The bytes of uploaded files: a folder with a file each, under its id. What is there under an id is whole and on disk.
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fullDiskError } from "../domain/obstacles/full-disk.ts";
import { notFound, ServiceError } from "../domain/service-error.ts";

/** Ends the name of a file that is still coming. */
const unfinished = ".partial";

export class FileFolder {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Writes a file, and resolves with its size once it is on disk. What fails leaves nothing.
   *
   * @throws ServiceError `too_large` beyond `bytesMax`, `unavailable` on a full disk; what reading `content` throws
   */
  async write(id: string, content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<number> {
    const partial = join(this.#path, id + unfinished);
    try {
      await mkdir(this.#path, { recursive: true });
      const byteCount = await writeSynced(partial, content, bytesMax);
      await rename(partial, join(this.#path, id));
      await syncFolder(this.#path);
      return byteCount;
    } catch (error) {
      await this.#remove(partial);
      throw fullDiskError(error) ?? error;
    }
  }

  read(id: string): Readable {
    return createReadStream(join(this.#path, id));
  }

  /** The whole file, in memory of its own. @throws ServiceError `not_found` */
  async bytes(id: string): Promise<Uint8Array<ArrayBuffer>> {
    const handle = await open(join(this.#path, id), "r").catch((error: unknown) => {
      throw isMissing(error) ? notFound("file", id) : error;
    });
    try {
      const { size } = await handle.stat();
      const bytes = new Uint8Array(size);
      let filled = 0;
      while (filled < size) {
        const { bytesRead } = await handle.read(bytes, filled, size - filled, filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return bytes.subarray(0, filled);
    } finally {
      await handle.close();
    }
  }

  /** One that is gone is no error. */
  remove(id: string): Promise<void> {
    return this.#remove(join(this.#path, id));
  }

  /** The ids of all files, and the names of what is unfinished. */
  async names(): Promise<readonly string[]> {
    try {
      return await readdir(this.#path);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  async #remove(path: string): Promise<void> {
    await rm(path, { force: true });
  }
}

async function writeSynced(
  path: string,
  content: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<number> {
  const handle = await open(path, "w");
  try {
    let byteCount = 0;
    for await (const piece of content) {
      byteCount += piece.length;
      if (byteCount > bytesMax) throw tooLarge(bytesMax);
      // Unlike `write`, it goes on where a write was cut short.
      await handle.appendFile(piece);
    }
    await handle.sync();
    return byteCount;
  } finally {
    await handle.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function tooLarge(bytesMax: number): ServiceError {
  const message = `The file has more than ${bytesMax} bytes, the most that a file may have. Upload it in parts.`;
  return new ServiceError({ code: "too_large", message });
}
