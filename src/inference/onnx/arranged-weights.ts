// A file of weights in the arrangement that the runtime's kernels use. All sessions map this file, so processes share
// the weights instead of holding private copies; results have the same bits either way. The file holds the bytes of one
// parameter and all arranged weights, each aligned to a page, then an index (JSON, then its length).
import {
  closeSync,
  existsSync,
  fsync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { env } from "onnxruntime-node";
import { present } from "../../base/domain/assert.ts";
import { eachConcurrently } from "../../base/processes/each-concurrently.ts";
import { WorkerPool } from "../../base/processes/worker-pool.ts";
import type { Graph } from "../../lib/graph/graph.ts";
import {
  type ArrangedWeight,
  byteLengthOf,
  type FilePiece,
  type WeightSource,
} from "../../lib/graph/weight-source.ts";
import { writeWhole } from "../../lib/model-files/write-safetensors.ts";
import {
  copyPiece,
  openTasks,
  type ArrangeTasks,
  type ArrangeThread,
  type CopiedPiece,
  type SavedOperation,
  type SaveTask,
} from "./arrange-tasks.ts";
import { flushDenormals, type SessionOptions } from "./session.ts";
import { partsWithWeights, weightBytesOf } from "./weight-parts.ts";

/** Version of the files' format. Must change whenever the content of a written file would change. */
export const arrangedFormat = `hone-arranged-3 onnxruntime-${env.versions.common}`;

type Weights = SessionOptions["weights"];

/** Index of a file. */
interface ArrangedIndex {
  /**
   * A parameter whose bytes this file contains too. The runtime accepts arranged weights only together with a parameter
   * in the same file.
   */
  readonly carrier: { readonly name: string; readonly offset: number };
  readonly arranged: readonly ArrangedWeight[];
  /** Number of bytes before the index. */
  readonly byteLength: number;
}

/** Size of a page in bytes. Mapped ranges must begin at a multiple of it. */
const pageBytes = 4096;
const lengthBytes = 4;

export interface ArrangeOptions extends Pick<SessionOptions, "weights" | "threads"> {
  /**
   * If given, the weights are arranged in the background, by one thread of low priority. It calls this function before
   * each operation, and waits for the promise. A rejection ends the writing.
   */
  readonly pace?: (() => Promise<void>) | undefined;
}

/**
 * Writes the arranged weights of a graph's operations into a file, atomically. Omits arranged weights that another file
 * already holds. Each thread works on one operation at a time, which needs memory for one arranged weight per thread,
 * and {@link spareBytesFor} on the disk.
 *
 * @throws ServiceError `internal` if the runtime cannot load the program
 */
export async function writeArrangedWeights(
  file: string,
  graph: Graph,
  options: ArrangeOptions,
): Promise<void> {
  const folder = `${file}.${process.pid}.partial`;
  const whole = join(folder, "arranged");
  mkdirSync(folder, { recursive: true });
  try {
    const descriptor = openSync(whole, "w");
    try {
      await writeArranged({ whole, descriptor, folder }, graph, options);
      await synchronize(descriptor);
    } finally {
      closeSync(descriptor);
    }
    putInPlace(whole, file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const synchronize = promisify(fsync);

/**
 * Returns the disk space that writing needs besides the file itself. The runtime saves weights in both layouts; the
 * threads save some weights at the same time.
 *
 * @param sizes of all weights, in bytes
 */
export function spareBytesFor(sizes: readonly number[], threads: number): number {
  const largest = sizes.toSorted((one, other) => other - one).slice(0, threads > 1 ? 2 * threads : 1);
  return 2 * largest.reduce((sum, size) => sum + size, 0);
}

interface Target {
  readonly whole: string;
  /** Descriptor of `whole`. */
  readonly descriptor: number;
  /** Folder for the files that the runtime writes. */
  readonly folder: string;
}

async function writeArranged(
  { whole, descriptor, folder }: Target,
  graph: Graph,
  { weights, threads, pace }: ArrangeOptions,
): Promise<void> {
  const operations = partsWithWeights(graph).map((operation, index): SaveTask => {
    const own = operation.parameters.map(({ name }) => [name, present(weights.get(name), name)] as const);
    return { operation, weights: new Map(own), folder: join(folder, `${index}`) };
  });
  const workers = await openWorkers(Math.min(threads, operations.length), {
    isBackground: pace !== undefined,
  });
  const written = new Set([...weights.values()].flatMap(arrangedIn).map(({ key }) => key));
  const arranged: ArrangedWeight[] = [];
  const savedNames = new Set<string>();
  let byteLength = 0;
  const place = ({ byteLength: length }: FilePiece): FilePiece => {
    const placed = { offset: byteLength, byteLength: length };
    byteLength += padded(length);
    return placed;
  };
  /** Places the arranged weights of a saved operation after those of earlier ones, and copies them there. */
  const keep = async ({ names, arranged: saved }: SavedOperation, task: SaveTask): Promise<void> => {
    for (const name of names) savedNames.add(name);
    const copied: CopiedPiece[] = [];
    for (const { key, pieces } of saved) {
      if (written.has(key)) continue;
      written.add(key);
      const placed = pieces.map(place);
      arranged.push({ key, pieces: placed });
      copied.push(...pieces.map((piece, index) => ({ ...piece, target: placed[index].offset })));
    }
    await workers.run("copy", { folder: task.folder, to: whole, pieces: copied });
  };
  try {
    const save = async (task: SaveTask): Promise<SavedOperation> => {
      await pace?.();
      return workers.run("save", task);
    };
    await inTurns(operations, { count: workers.count, save, keep });
  } finally {
    await workers.close();
  }
  const { name, file, ...piece } = carrierOf(graph, weights, savedNames);
  const carrier = { name, offset: place(piece).offset };
  copyFrom(file, descriptor, { ...piece, target: carrier.offset });
  const text = Buffer.from(JSON.stringify({ carrier, arranged, byteLength } satisfies ArrangedIndex));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(text.length);
  writeWhole(descriptor, Buffer.concat([text, length]), byteLength);
}

/** Runs tasks of {@link ArrangeTasks}. */
interface Workers {
  /** Number of tasks that run at the same time. */
  readonly count: number;
  readonly run: <Kind extends keyof ArrangeTasks>(
    kind: Kind,
    task: ArrangeTasks[Kind]["task"],
  ) => Promise<ArrangeTasks[Kind]["result"]>;
  readonly close: () => Promise<void>;
}

/** Limits of a thread that arranges weights. The start of the engine has a deadline of its own. */
const [taskMs, memoryMebibytes] = [24 * 60 * 60 * 1000, 512];

/** Niceness of a thread that arranges weights while the engine may compute. */
const backgroundNiceness = 10;

/**
 * Starts threads for several workers, or one in the background. A single worker in the foreground is the calling thread.
 */
async function openWorkers(
  countMax: number,
  { isBackground }: { readonly isBackground: boolean },
): Promise<Workers> {
  const count = isBackground ? 1 : Math.max(countMax, 1);
  if (count === 1 && !isBackground) {
    const tasks = openTasks({ niceness: 0 });
    return { count: 1, run: async (kind, task) => tasks[kind](task, () => undefined), close: async () => {} };
  }
  // Otherwise the first of the threads would get the flag that the calling thread needs for its computations.
  await flushDenormals();
  const pool = new WorkerPool<ArrangeTasks, ArrangeThread>({
    module: new URL("./arrange-tasks.js", import.meta.url),
    data: { niceness: isBackground ? backgroundNiceness : 0 },
    workerCount: count,
    stageMs: [taskMs],
    memoryMebibytes,
  });
  return { count, run: (kind, task) => pool.run(kind, task), close: () => pool.close() };
}

interface Turns {
  /** Number of operations that are saved at the same time. */
  readonly count: number;
  readonly save: (task: SaveTask) => Promise<SavedOperation>;
  /** Called in the order of the operations, without waiting for the previous call. */
  readonly keep: (saved: SavedOperation, task: SaveTask) => Promise<void>;
}

/**
 * Saves and keeps all operations. Begins with the one that has the largest weights, so that it does not run without the
 * others at the end.
 */
async function inTurns(tasks: readonly SaveTask[], { count, save, keep }: Turns): Promise<void> {
  const sizes = tasks.map(({ operation }) => weightBytesOf(operation));
  const first = count > 1 ? sizes.indexOf(Math.max(...sizes)) : 0;
  const others = [...tasks.keys()].filter((index) => index !== first);
  const saved = new Map<number, SavedOperation>();
  let next = 0;
  await eachConcurrently([first, ...others], count, async (index) => {
    saved.set(index, await save(tasks[index]));
    for (let found = saved.get(next); found !== undefined; found = saved.get(next)) {
      saved.delete(next);
      await keep(found, tasks[next++]);
    }
  });
}

/**
 * Returns the smallest parameter in a file that has no arranged weights yet, with its location.
 *
 * @param savedNames parameters that the runtime reads. It replaces others, such as A in exp(A), by values that it
 * computes when it loads the program.
 */
function carrierOf(
  { parameters }: Graph,
  weights: Weights,
  savedNames: ReadonlySet<string>,
): FilePiece & { readonly name: string; readonly file: string } {
  const usable = parameters.flatMap(({ name, value }) => {
    const source = weights.get(name);
    const isUsable = source !== undefined && "file" in source && source.arranged === undefined;
    if (!isUsable || !savedNames.has(name)) return [];
    return [{ name, file: source.file, offset: source.offset, byteLength: byteLengthOf(value) }];
  });
  const [smallest] = usable.toSorted((one, other) => one.byteLength - other.byteLength);
  return present(smallest, "a parameter in a file");
}

/**
 * Gives the complete file its final name. On Windows this fails if a process has mapped the existing file, which is no
 * error because both have the same content.
 */
function putInPlace(whole: string, file: string): void {
  try {
    renameSync(whole, file);
  } catch (error) {
    if (process.platform !== "win32" || !existsSync(file)) throw error;
  }
}

/**
 * Adds the arranged weights in a file to the weights for `createSession`. Returns null if the file is missing or
 * incomplete. If a weight's values or kernels differ from those in the file, the session arranges the weight in memory
 * instead.
 */
export function withArrangedWeights(file: string, weights: Weights): Weights | null {
  const found = readIndex(file);
  if (found === null) return null;
  const { carrier, arranged } = found;
  return new Map(weights).set(carrier.name, { file, offset: carrier.offset, arranged });
}

function readIndex(file: string): ArrangedIndex | null {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size < lengthBytes) return null;
  const descriptor = openSync(file, "r");
  try {
    const read = (length: number, offset: number): Buffer => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(descriptor, bytes, 0, length, offset));
    };
    const end = size - lengthBytes;
    const length = Math.min(read(lengthBytes, end).readUInt32LE(0), end);
    // Safe cast: `writeArranged` wrote the index.
    const index = JSON.parse(read(length, end - length).toString()) as ArrangedIndex;
    return index.byteLength === end - length ? index : null;
  } catch {
    return null;
  } finally {
    closeSync(descriptor);
  }
}

/** Returns the arranged weights that are stored in the same file as a weight; empty if there are none. */
function arrangedIn(source: WeightSource): readonly ArrangedWeight[] {
  return "file" in source ? (source.arranged ?? []) : [];
}

function copyFrom(source: string, to: number, piece: CopiedPiece): void {
  const from = openSync(source, "r");
  try {
    copyPiece(from, to, piece);
  } finally {
    closeSync(from);
  }
}

function padded(byteLength: number): number {
  return Math.ceil(byteLength / pageBytes) * pageBytes;
}
