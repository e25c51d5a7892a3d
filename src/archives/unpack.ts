// Takes the files out of a tar archive as it comes, into a folder, within limits. What is no plain file is not taken, and
// no name leads out of the folder: of each the last part counts.
import { once } from "node:events";
import { open } from "node:fs/promises";
import { basename, join } from "node:path";
import { Parser, type ReadEntry } from "tar";
import { ServiceError } from "../domain/service-error.ts";

export interface UnpackLimits {
  /** Most bytes of all entries together, those that are not taken too: to skip them takes as long as to write them. */
  readonly bytesMax: number;
  /** Most entries of any kind; any number unless given. */
  readonly entriesMax?: number;
  /** Most bytes of one file that is taken; as many as of all unless given. */
  readonly fileBytesMax?: (name: string) => number;
  /** Whether a file of this name is taken; all are unless given. */
  readonly takes?: (name: string) => boolean;
}

/**
 * Unpacks an archive, which may be gzipped.
 *
 * @param folder exists; a file that is there already is a fault
 * @returns the names of the files that were taken, and of those that were not
 * @throws ServiceError `invalid` for what is no archive, or is cut off, or holds a name twice; `too_large`; what reading the
 *   archive throws
 */
export async function unpackInto(
  folder: string,
  archive: AsyncIterable<Uint8Array>,
  limits: UnpackLimits,
): Promise<{ readonly taken: readonly string[]; readonly left: readonly string[] }> {
  const unpacking = new Unpacking(folder, limits);
  const parser = new Parser({
    strict: true,
    onReadEntry: (entry) => unpacking.add(entry),
    maxMetaEntrySize: metaBytesMax,
  });
  // What describes the next entry is one itself; one that is too large is passed over.
  parser.on("meta", (text: string) => unpacking.count(Buffer.byteLength(text)));
  parser.on("ignoredEntry", (entry: ReadEntry) => unpacking.count(entry.size));
  // It may find several faults; the first is told.
  parser.on("error", (cause: unknown) => unpacking.fail(notAnArchive(cause)));
  const ended = new Promise<void>((resolve) => parser.once("end", resolve));
  for await (const piece of archive) {
    const takesMore = parser.write(Buffer.from(piece.buffer, piece.byteOffset, piece.length));
    // What has failed comes first.
    await Promise.race([unpacking.failed, takesMore ? undefined : once(parser, "drain")]);
  }
  parser.end();
  await Promise.race([unpacking.failed, ended]);
  await Promise.race([unpacking.failed, unpacking.written()]);
  return unpacking;
}

/** A longer description of an entry is passed over: it says a path, which has at most a few thousand bytes. */
const metaBytesMax = 1 << 16;

class Unpacking {
  readonly taken: string[] = [];
  readonly left: string[] = [];
  /** Rejects with the first failure; never resolves. */
  readonly failed: Promise<never>;
  readonly #folder: string;
  readonly #takes: (name: string) => boolean;
  #bytesLeft: number;
  #entriesLeft: number;
  readonly #limits: UnpackLimits;
  #writing: Promise<void> = Promise.resolve();
  fail: (error: unknown) => void = () => undefined;

  constructor(folder: string, limits: UnpackLimits) {
    const { bytesMax, entriesMax = Infinity, takes = () => true } = limits;
    this.#folder = folder;
    this.#takes = takes;
    this.#limits = limits;
    this.#bytesLeft = bytesMax;
    this.#entriesLeft = entriesMax;
    this.failed = new Promise((_, reject) => (this.fail = reject));
    this.failed.catch(() => undefined);
  }

  /** Counts an entry of so many bytes; fails where that is more than there may be. */
  count(byteCount: number): void {
    const { bytesMax, entriesMax } = this.#limits;
    this.#bytesLeft -= byteCount;
    this.#entriesLeft -= 1;
    if (this.#entriesLeft < 0) this.fail(invalid(`The archive has more than ${entriesMax} entries.`));
    if (this.#bytesLeft < 0) this.fail(tooLarge(bytesMax));
  }

  /** Entries come one after the other: the next one when this one was read. */
  add(entry: ReadEntry): void {
    this.count(entry.size);
    const name = basename(entry.path);
    const isFile = entry.type === "File" || entry.type === "OldFile" || entry.type === "ContiguousFile";
    if (!isFile || !this.#takes(name)) {
      if (isFile) this.left.push(name);
      entry.resume();
      return;
    }
    this.#writing = this.#take(entry, name);
    this.#writing.catch(this.fail);
  }

  written(): Promise<void> {
    return this.#writing;
  }

  async #take(entry: ReadEntry, name: string): Promise<void> {
    if (this.taken.includes(name)) throw invalid(`The archive holds ${name} twice.`);
    this.taken.push(name);
    const bytesMax = this.#limits.fileBytesMax?.(name) ?? Infinity;
    if (entry.size > bytesMax)
      throw invalid(`${name} has ${entry.size} bytes; at most ${bytesMax} are read of it.`);
    if (this.#bytesLeft < 0) throw tooLarge(this.#limits.bytesMax);
    const file = await open(join(this.#folder, name), "wx");
    try {
      for await (const piece of entry) await file.writeFile(piece);
    } finally {
      await file.close();
    }
  }
}

function notAnArchive(cause: unknown): ServiceError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return invalid(`The archive cannot be read (${reason}); send a whole tar file.`, cause);
}

function invalid(message: string, cause?: unknown): ServiceError {
  return new ServiceError({ code: "invalid", message, cause });
}

function tooLarge(bytesMax: number): ServiceError {
  return new ServiceError({
    code: "too_large",
    message: `The entries of the archive have more than ${bytesMax} bytes together, the most that are taken.`,
  });
}
