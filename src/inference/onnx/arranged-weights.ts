// A file of weights in the arrangement that the runtime's kernels use. All sessions map this file, so processes share
// the weights instead of holding private copies; results have the same bits either way. The file holds the bytes of one
// parameter and all arranged weights, each aligned to a page, then an index (JSON, then its length).
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { env } from "onnxruntime-node";
import { assert, present } from "../../base/domain/assert.ts";
import type { Graph, NamedValue, Node, Value } from "../../lib/graph/graph.ts";
import { readExternalParameters } from "../../lib/graph/onnx/external-data.ts";
import {
  type ArrangedWeight,
  byteLengthOf,
  type FilePiece,
  type WeightSource,
} from "../../lib/graph/weight-source.ts";
import { loadProgram, type SessionOptions } from "./session.ts";

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
const copiedBytesMax = 1024 * 1024;

/**
 * Writes the arranged weights of a graph's operations into a file, atomically. Omits arranged weights that another file
 * already holds. The runtime arranges one weight at a time, so this function needs memory for the largest arranged
 * weight, and disk space for all arranged weights plus twice the largest one.
 *
 * @throws ServiceError `internal` if the runtime cannot load the program
 */
export async function writeArrangedWeights(
  file: string,
  graph: Graph,
  options: Pick<SessionOptions, "weights" | "threads">,
): Promise<void> {
  const folder = `${file}.${process.pid}.partial`;
  const whole = join(folder, "arranged");
  mkdirSync(folder, { recursive: true });
  try {
    const descriptor = openSync(whole, "w");
    try {
      await writeArranged(descriptor, folder, graph, options);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    putInPlace(whole, file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param folder for the files that the runtime writes */
async function writeArranged(
  descriptor: number,
  folder: string,
  graph: Graph,
  options: Pick<SessionOptions, "weights" | "threads">,
): Promise<void> {
  const [modelFile, dataName] = [join(folder, "model.onnx"), "weights.bin"];
  let byteLength = 0;
  const append = (source: string, piece: FilePiece): FilePiece => {
    const placed = { offset: byteLength, byteLength: piece.byteLength };
    copyPiece(source, descriptor, piece);
    byteLength += padded(piece.byteLength);
    return placed;
  };
  const written = new Set([...options.weights.values()].flatMap(arrangedIn).map(({ key }) => key));
  const arranged: ArrangedWeight[] = [];
  const savedNames = new Set<string>();
  for (const operation of operationsWithWeights(graph)) {
    const program = await loadProgram(operation, options, { modelFile, dataName });
    await program.release();
    const saved = readExternalParameters(readFileSync(modelFile));
    for (const { name } of saved) savedNames.add(name);
    for (const { key, pieces } of saved.flatMap((parameter) => parameter.arranged)) {
      if (written.has(key)) continue;
      written.add(key);
      arranged.push({ key, pieces: pieces.map((piece) => append(join(folder, dataName), piece)) });
    }
  }
  const { name, file, ...place } = carrierOf(graph, options.weights, savedNames);
  const carrier = { name, offset: append(file, place).offset };
  const text = Buffer.from(JSON.stringify({ carrier, arranged, byteLength } satisfies ArrangedIndex));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(text.length);
  writeAll(descriptor, Buffer.concat([text, length]));
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

/** Operations and weights from which a value can be computed. */
interface Fixed {
  readonly nodes: readonly Node[];
  readonly weights: readonly NamedValue[];
}

/**
 * Returns a graph for each operation that applies weights to other values. The graph has only this operation, and the
 * operations that compute its operands from weights and constants.
 */
function operationsWithWeights({ nodes, parameters }: Graph): readonly Graph[] {
  const fixed = new Map<number, Fixed>(
    parameters.map((parameter) => [parameter.value.id, { nodes: [], weights: [parameter] }]),
  );
  return nodes.flatMap((node) => {
    const operands = node.inputs.map(({ id }) => fixed.get(id));
    const known = operands.filter((operand) => operand !== undefined);
    const own = [...new Set(known.flatMap((operand) => operand.nodes)), node];
    const weights = [...new Set(known.flatMap((operand) => operand.weights))];
    const isFixed = known.length === operands.length && (operands.length > 0 || node.kind === "constant");
    if (isFixed) for (const { id } of node.outputs) fixed.set(id, { nodes: own, weights });
    if (isFixed || weights.length === 0) return [];
    const named = (value: Value): NamedValue => ({ name: `value ${value.id}`, value });
    const inputs = node.inputs.filter(({ id }) => !fixed.has(id)).map(named);
    return [{ nodes: own, inputs, parameters: weights, outputs: node.outputs.map(named) }];
  });
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

/** Copies a piece of a file to the current end of another, and pads it to a whole number of pages. */
function copyPiece(source: string, to: number, { offset, byteLength }: FilePiece): void {
  const from = openSync(source, "r");
  try {
    const buffer = Buffer.alloc(Math.min(byteLength, copiedBytesMax));
    for (let done = 0; done < byteLength;) {
      const count = readSync(from, buffer, 0, Math.min(buffer.length, byteLength - done), offset + done);
      assert(count > 0, `the file has ${byteLength} bytes at ${offset}`);
      writeAll(to, buffer.subarray(0, count));
      done += count;
    }
  } finally {
    closeSync(from);
  }
  writeAll(to, Buffer.alloc(padded(byteLength) - byteLength));
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done);
}

function padded(byteLength: number): number {
  return Math.ceil(byteLength / pageBytes) * pageBytes;
}
