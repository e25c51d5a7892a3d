// Cache files of weights that Hone derives from a model's own weights. Each model has one file for each kind of derived
// weights, laid out for memory mapping. Callers decide the location and the content.
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fdatasync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { present } from "../../base/domain/assert.ts";
import { eachConcurrently } from "../../base/processes/each-concurrently.ts";
import { WorkerPool } from "../../base/processes/worker-pool.ts";
import { byteLengthOf } from "../../lib/graph/weight-source.ts";
import type { DataType } from "../../lib/graph/graph.ts";
import type { DataArrays } from "../../lib/graph/tensor.ts";
import type { StoredTensor } from "../../lib/model-files/stored-tensor.ts";
import {
  convertWeight,
  pieceValuesMax,
  rangesOf,
  type Conversion,
  type RowRange,
} from "./quantized/conversion.ts";
import type { ConvertTasks } from "./quantized/convert-tasks.ts";
import { freeRoundedCodes } from "./quantized/rounded-codes.ts";
import { writeParts, type PlacedPart } from "./quantized/written-parts.ts";

/** A tensor in a cache file. */
export interface CachedPart extends Omit<PlacedPart, "offset"> {
  readonly name: string;
  readonly dtype: DataType;
}

/** Tensors that are computed together, in the order in which the file has them. */
export interface CacheEntry {
  readonly parts: readonly CachedPart[];
  /**
   * Conversion of a stored weight to these tensors, or a function that computes their data. Used only when the file is
   * written.
   */
  readonly made: Conversion | (() => readonly DataArrays[DataType][]);
}

/** Identity of a model's cache file: its folders, name ending and format. */
export interface CachePlace {
  readonly modelFolder: string;
  readonly cacheFolder: string;
  /** If true, refuses to write a missing file. */
  readonly isReadOnly?: boolean;
  /** End of the file's name; each kind of file has a different ending. */
  readonly ending: string;
  /** Called for every tenth of a missing file that was written, with the percentage. */
  readonly onProgress?: (percent: number) => void;
  /** Format version. It must change whenever the content or the order of files changes. */
  readonly format: string;
  /** Maximum number of values that are converted at a time, if rows are independent. */
  readonly pieceValues?: number;
}

/** Alignment of mapped tensors, in bytes. */
const alignment = 4096;

/** Location in a file of each tensor, by name. */
type Places = ReadonlyMap<string, { readonly file: string; readonly offset: number }>;

/**
 * Writes the tensors into a cache file if the file does not exist yet.
 *
 * @param stored the model's tensors from which the entries are computed
 * @returns location in the file of each tensor, by name
 */
export function ensureCached(
  place: CachePlace,
  stored: readonly StoredTensor[],
  entries: readonly CacheEntry[],
): Places {
  const file = missingFile(place, stored);
  if (file.isMissing) {
    const writing = new FileWriting(file.path, entries, place);
    try {
      for (const piece of writing.pieces) writing.write(piece);
      writing.finish();
    } finally {
      writing.end();
      freeRoundedCodes();
    }
    removeEarlier(file);
  }
  return placesIn(file.path, entries);
}

/** Like {@link ensureCached}, but several threads convert weights. Writes the same bytes. */
export async function ensureCachedByThreads(
  place: CachePlace,
  stored: readonly StoredTensor[],
  entries: readonly CacheEntry[],
  threads: number,
): Promise<Places> {
  const file = missingFile(place, stored);
  if (!file.isMissing || threads < 2) return ensureCached(place, stored, entries);
  const pool = new WorkerPool<ConvertTasks>({
    module: new URL("./quantized/convert-tasks.js", import.meta.url),
    workerCount: threads,
    stageMs: [taskMs],
    memoryMebibytes,
  });
  const writing = new FileWriting(file.path, entries, place);
  try {
    await eachConcurrently(writing.pieces, threads, (piece) => writing.writeBy(pool, piece));
    await writing.synced();
    writing.finish();
  } finally {
    await pool.close();
    await writing.synced();
    writing.end();
  }
  removeEarlier(file);
  return placesIn(file.path, entries);
}

/** Limits of a thread that converts weights. The start of the engine has a deadline of its own. */
const [taskMs, memoryMebibytes] = [24 * 60 * 60 * 1000, 512];

interface CacheFile {
  readonly path: string;
  readonly isMissing: boolean;
  /** True for the names of files that this file replaces. */
  readonly isEarlier: (name: string) => boolean;
}

/**
 * Returns the name of a cache file. If the file must be written, creates its folder and removes abandoned partial
 * files.
 *
 * @throws Error if the file is missing and must not be written
 */
function missingFile(
  { modelFolder, cacheFolder, isReadOnly = false, ending, format }: CachePlace,
  stored: readonly StoredTensor[],
): CacheFile {
  const modelKey = cacheKey(realpathSync(modelFolder));
  const name = `${modelKey}-${contentKey(format, stored)}${ending}`;
  const path = join(cacheFolder, name);
  const isMissing = !existsSync(path);
  if (isMissing && isReadOnly) throw new Error(`${path} is missing`);
  if (isMissing) {
    mkdirSync(cacheFolder, { recursive: true });
    removeAbandoned(path);
  }
  const isEarlier = (other: string): boolean =>
    other.startsWith(`${modelKey}-`) && other.endsWith(ending) && other !== name;
  return { path, isMissing, isEarlier };
}

/** Removes unfinished copies of a file, left behind by processes that crashed. */
function removeAbandoned(path: string): void {
  const folder = dirname(path);
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(`${basename(path)}.`)) continue;
    const processId = /^(\d+)\.partial$/.exec(name.slice(basename(path).length + 1))?.[1];
    if (processId !== undefined && !isRunning(Number(processId))) rmSync(join(folder, name), { force: true });
  }
}

function isRunning(processId: number): boolean {
  try {
    // Signal 0 only checks that the process exists.
    return process.kill(processId, 0);
  } catch (error) {
    // Safe cast: Node's errors have a code. Another one, for example EPERM, shows that the process exists.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** A model has one file of each kind. Earlier files belong to earlier weights of the model, so they are removed. */
function removeEarlier({ path, isEarlier }: CacheFile): void {
  const folder = dirname(path);
  for (const other of readdirSync(folder)) if (isEarlier(other)) removeUnlessMapped(join(folder, other));
}

function placesIn(file: string, entries: readonly CacheEntry[]): Places {
  const placed = placedParts(entries.flatMap(({ parts }) => parts));
  return new Map(placed.map(({ name, offset }) => [name, { file, offset }]));
}

function placedParts(parts: readonly CachedPart[]): readonly (CachedPart & PlacedPart)[] {
  let end = 0;
  return parts.map((part) => {
    const offset = end;
    end += padded(byteLengthOf(part));
    return { ...part, offset };
  });
}

/** Returns a hash that changes when any of the model's files changes. */
function contentKey(format: string, stored: readonly StoredTensor[]): string {
  const whole = stored.flatMap((tensor) => tensor.pieces ?? [tensor]);
  const files = [...new Set(whole.map(({ file }) => file))].sort().map((file) => {
    const { size, mtimeMs } = statSync(file);
    return [file, size, mtimeMs];
  });
  const tensors = whole.map(({ name, offset, shape }) => [name, offset, shape]);
  return cacheKey([format, files, tensors]);
}

/** Returns a short hash of a value's JSON, for the name of a cache file. */
export function cacheKey(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}

/** Tensors of an entry, or the rows of its weight that are converted at a time. */
interface FilePiece {
  readonly made: CacheEntry["made"];
  readonly range: RowRange | null;
  readonly parts: readonly PlacedPart[];
  /** Number of bytes that the piece adds to the file. */
  readonly byteLength: number;
}

/**
 * Writes a cache file. Two processes may convert at the same time. Each writes its own partial file, and both have the
 * same bytes, so it does not matter whose rename comes last.
 */
class FileWriting {
  readonly pieces: readonly FilePiece[];
  readonly #file: string;
  readonly #partial: string;
  readonly #descriptor: number;
  readonly #byteLength: number;
  readonly #onProgress: (percent: number) => void;
  #written = 0;
  #tenth = 0;
  #syncing: Promise<void> = Promise.resolve();
  #isWhole = false;

  constructor(
    file: string,
    entries: readonly CacheEntry[],
    { onProgress = () => undefined, pieceValues = pieceValuesMax }: CachePlace,
  ) {
    this.#file = file;
    this.#partial = `${file}.${process.pid}.partial`;
    this.#onProgress = onProgress;
    const all = placedParts(entries.flatMap(({ parts }) => parts));
    this.#byteLength = all.reduce((sum, part) => sum + padded(byteLengthOf(part)), 0);
    const placed = all.values();
    this.pieces = entries.flatMap(({ parts: own, made }) => {
      const parts = own.map(() => present(placed.next().value, "a place"));
      const ranges = typeof made === "function" ? [null] : rangesOf(made, pieceValues);
      const byteLength = parts.reduce((sum, part) => sum + padded(byteLengthOf(part)), 0) / ranges.length;
      return ranges.map((range) => ({ made, range, parts, byteLength }));
    });
    this.#descriptor = openSync(this.#partial, "w");
  }

  write({ made, range, parts, byteLength }: FilePiece): void {
    const data = typeof made === "function" ? made() : convertWeight(made, range);
    writeParts(this.#descriptor, parts, { range, data });
    this.#advance(byteLength);
  }

  /** Like {@link FileWriting.write}, but a thread converts and writes weights. */
  async writeBy(pool: WorkerPool<ConvertTasks>, piece: FilePiece): Promise<void> {
    const { made, range, parts, byteLength } = piece;
    if (typeof made === "function") return this.write(piece);
    await pool.run("convert", { conversion: made, range, parts, file: this.#partial });
    // The system writes to the disk meanwhile, which shortens the wait at the end.
    // An error is ignored, because the synchronization at the end then fails too.
    if (this.#advance(byteLength))
      this.#syncing = this.#syncing.then(() => datasync(this.#descriptor)).catch(() => undefined);
  }

  /** Resolves when no synchronization is in progress. */
  async synced(): Promise<void> {
    await this.#syncing;
  }

  /** Gives the file its final name, after all pieces are written. */
  finish(): void {
    ftruncateSync(this.#descriptor, this.#byteLength);
    fsyncSync(this.#descriptor);
    putInPlace(this.#partial, this.#file);
    this.#isWhole = true;
  }

  /** Removes the partial file if it has not become the file. */
  end(): void {
    closeSync(this.#descriptor);
    if (!this.#isWhole) rmSync(this.#partial, { force: true });
  }

  /** Returns true, and reports the progress, if another tenth of the file was written. */
  #advance(byteLength: number): boolean {
    this.#written += byteLength;
    // The parts of a tensor may be fractions of bytes, so their sum is rounded.
    const reached = Math.floor((10 * Math.round(this.#written)) / this.#byteLength);
    const isFurther = reached > this.#tenth;
    if (isFurther) this.#onProgress(10 * reached);
    this.#tenth = reached;
    return isFurther;
  }
}

const datasync = promisify(fdatasync);

/**
 * On Windows, a file that a process has mapped cannot be replaced. The existing file is kept, because it has the same
 * bytes.
 */
function putInPlace(partial: string, file: string): void {
  try {
    renameSync(partial, file);
  } catch (error) {
    if (process.platform !== "win32" || !existsSync(file)) throw error;
    rmSync(partial, { force: true });
  }
}

/**
 * On Windows, a file that a process still maps cannot be deleted. It is deleted at the next change of the model's
 * files.
 */
function removeUnlessMapped(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch (error) {
    if (process.platform !== "win32") throw error;
  }
}

function padded(byteLength: number): number {
  return Math.ceil(byteLength / alignment) * alignment;
}
