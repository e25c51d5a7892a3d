// A file that is downloaded in parts, with its running checksum. Bytes that are already on disk are reused, unless they
// exceed the file's size.
import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type { RepositoryFile } from "../choose-files.ts";

export class PartialFile {
  readonly path: string;
  readonly #file: RepositoryFile;
  readonly #handle: FileHandle;
  #hash: Hash;
  #length = 0;

  private constructor(path: string, file: RepositoryFile, handle: FileHandle) {
    this.path = path;
    this.#file = file;
    this.#handle = handle;
    this.#hash = newHash(file);
  }

  /** Opens a file for appending. Reads the bytes that it already has, because the checksum includes them. */
  static async open(path: string, file: RepositoryFile): Promise<PartialFile> {
    const handle = await open(path, "a", 0o600);
    const partial = new PartialFile(path, file, handle);
    try {
      const { size } = await handle.stat();
      if (size > file.bytes) await handle.truncate(0);
      else if (size > 0) await partial.#readAgain();
      return partial;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Number of bytes of the file that are on disk. */
  get length(): number {
    return this.#length;
  }

  async append(part: Uint8Array): Promise<void> {
    await this.#handle.appendFile(part);
    this.#count(part);
  }

  async restart(): Promise<void> {
    await this.#handle.truncate(0);
    this.#hash = newHash(this.#file);
    this.#length = 0;
  }

  /** Flushes the file to disk and closes it. */
  async close(): Promise<void> {
    try {
      await this.#handle.sync();
    } finally {
      await this.#handle.close();
    }
  }

  /** True if the content matches the hub's checksum. Must be called only once. */
  matchesChecksum(): boolean {
    return this.#hash.digest("hex") === this.#file.checksum.digest;
  }

  async #readAgain(): Promise<void> {
    for await (const part of createReadStream(this.path, { highWaterMark: 1 << 20 }))
      this.#count(part as Buffer);
  }

  #count(part: Uint8Array): void {
    this.#hash.update(part);
    this.#length += part.length;
  }
}

/** Git computes a blob's hash over its type and length, followed by its content. */
function newHash({ bytes, checksum }: RepositoryFile): Hash {
  return checksum.kind === "sha256" ? createHash("sha256") : createHash("sha1").update(`blob ${bytes}\0`);
}
