// Cache files of weights that Hone derives from a model's own weights. Each model has one file for each kind of derived
// weights, laid out for memory mapping. Callers decide the location and the content.
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
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
import { join } from "node:path";
import { byteLengthOf, bytesOf } from "../../lib/graph/weight-source.ts";
import type { DataType } from "../../lib/graph/graph.ts";
import type { DataArrays } from "../../lib/graph/tensor.ts";
import type { StoredTensor } from "../../lib/model-files/stored-tensor.ts";
import { writeWhole } from "../../lib/model-files/write-safetensors.ts";

/** A group of tensors that are computed together, in the order in which the file has them. */
export interface CachedPart {
  readonly name: string;
  readonly dtype: DataType;
  readonly shape: readonly number[];
}

export interface CacheEntry {
  readonly parts: readonly CachedPart[];
  /** Computes the data of each tensor in the group. Called only when the file is written. */
  readonly make: () => readonly DataArrays[DataType][];
  /**
   * Computes the data of the tensors piece by piece; absent if they are computed as a whole. At most one piece is in
   * memory at a time.
   */
  readonly pieces?: () => Iterable<readonly DataArrays[DataType][]>;
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
}

/** Alignment of mapped tensors, in bytes. */
const alignment = 4096;

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
): ReadonlyMap<string, { readonly file: string; readonly offset: number }> {
  const file = ensureFile(place, stored, entries);
  const sourceOf = new Map<string, { readonly file: string; readonly offset: number }>();
  let offset = 0;
  for (const part of entries.flatMap(({ parts }) => parts)) {
    sourceOf.set(part.name, { file, offset });
    offset += padded(byteLengthOf(part));
  }
  return sourceOf;
}

function ensureFile(
  { modelFolder, cacheFolder, isReadOnly = false, ending, format, onProgress }: CachePlace,
  stored: readonly StoredTensor[],
  entries: readonly CacheEntry[],
): string {
  const modelKey = cacheKey(realpathSync(modelFolder));
  const name = `${modelKey}-${contentKey(format, stored)}${ending}`;
  const file = join(cacheFolder, name);
  if (existsSync(file)) return file;
  if (isReadOnly) throw new Error(`${file} is missing`);
  mkdirSync(cacheFolder, { recursive: true });
  write(file, entries, onProgress);
  // A model has one file of each kind. Earlier files belong to earlier weights of the model, so they are removed.
  for (const other of readdirSync(cacheFolder)) {
    const isEarlier = other.startsWith(`${modelKey}-`) && other.endsWith(ending) && other !== name;
    if (isEarlier) removeUnlessMapped(join(cacheFolder, other));
  }
  return file;
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

function write(
  file: string,
  entries: readonly CacheEntry[],
  onProgress: CachePlace["onProgress"] = () => undefined,
): void {
  // Two processes may convert at the same time. Each writes its own partial file, and both have the same bytes, so it
  // does not matter whose rename comes last.
  const partial = `${file}.${process.pid}.partial`;
  const descriptor = openSync(partial, "w");
  try {
    const bytesInAll = entries
      .flatMap(({ parts }) => parts)
      .reduce((sum, part) => sum + padded(byteLengthOf(part)), 0);
    let [end, tenth] = [0, 0];
    for (const { parts, make, pieces } of entries) {
      const places = parts.map((part) => {
        const start = end;
        end += padded(byteLengthOf(part));
        return start;
      });
      for (const arrays of pieces?.() ?? [make()])
        for (const [index, data] of arrays.entries()) {
          writeWhole(descriptor, bytesOf(data), places[index]);
          places[index] += data.byteLength;
        }
      const reached = Math.floor((10 * end) / bytesInAll);
      if (reached > tenth) onProgress(10 * reached);
      tenth = reached;
    }
    ftruncateSync(descriptor, end);
    fsyncSync(descriptor);
    putInPlace(partial, file);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

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
