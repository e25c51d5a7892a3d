// A file of weights in the arrangement that the runtime's kernels use. All sessions map this file, so processes share
// the weights instead of holding private copies; results have the same bits either way. The file holds an index (its
// length, then JSON), then the bytes of one parameter and all arranged weights, each aligned to a page.
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
import type { Graph } from "../../lib/graph/graph.ts";
import { type ExternalParameter, readExternalParameters } from "../../lib/graph/onnx/external-data.ts";
import type { ArrangedWeight, FilePiece, WeightSource } from "../../lib/graph/weight-source.ts";
import { loadProgram, type SessionOptions } from "./session.ts";

/** Version of the files' format. Must change whenever the content of a written file would change. */
export const arrangedFormat = `hone-arranged-1 onnxruntime-${env.versions.common}`;

type Weights = SessionOptions["weights"];

/** Index of a file. Offsets are counted from the end of the index. */
interface ArrangedIndex {
  /**
   * A parameter whose bytes this file contains too. The runtime accepts arranged weights only together with a parameter
   * in the same file.
   */
  readonly carrier: { readonly name: string; readonly offset: number };
  readonly arranged: readonly ArrangedWeight[];
  readonly byteLength: number;
}

/** Size of a page in bytes. Mapped ranges must begin at a multiple of it. */
const pageBytes = 4096;
const lengthBytes = 4;
const copiedBytesMax = 16 * 1024 * 1024;

/**
 * Writes the arranged weights of a graph's operations into a file, atomically. Omits arranged weights that another file
 * already holds. While writing, it needs memory for the arranged weights, and disk space for the weights plus twice the
 * arranged weights.
 *
 * @throws ServiceError `internal` if the runtime cannot load the program
 */
export async function writeArrangedWeights(
  file: string,
  graph: Graph,
  options: Pick<SessionOptions, "weights" | "threads">,
): Promise<void> {
  const folder = `${file}.${process.pid}.partial`;
  const [modelFile, dataName] = [join(folder, "model.onnx"), "weights.bin"];
  mkdirSync(folder, { recursive: true });
  try {
    const program = await loadProgram(graph, options, { modelFile, dataName });
    await program.release();
    const parameters = readExternalParameters(readFileSync(modelFile));
    const whole = join(folder, "arranged");
    writePieces(whole, parameters, join(folder, dataName), options.weights);
    putInPlace(whole, file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
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
  const { start, places } = found;
  const moved = ({ offset, byteLength }: FilePiece): FilePiece => ({ offset: start + offset, byteLength });
  const source: WeightSource = {
    file,
    offset: start + places.carrier.offset,
    arranged: places.arranged.map(({ key, pieces }) => ({ key, pieces: pieces.map(moved) })),
  };
  return new Map(weights).set(places.carrier.name, source);
}

function readIndex(file: string): { readonly start: number; readonly places: ArrangedIndex } | null {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size < lengthBytes) return null;
  const descriptor = openSync(file, "r");
  try {
    const read = (length: number, offset: number): Buffer => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(descriptor, bytes, 0, length, offset));
    };
    const length = Math.min(read(lengthBytes, 0).readUInt32LE(0), size);
    // Safe cast: `writePieces` wrote the index.
    const places = JSON.parse(read(length, lengthBytes).toString()) as ArrangedIndex;
    const start = padded(lengthBytes + length);
    return size === start + places.byteLength ? { start, places } : null;
  } catch {
    return null;
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a file: the index, then data copied from the files that the runtime wrote. */
function writePieces(
  file: string,
  parameters: readonly ExternalParameter[],
  dataFile: string,
  weights: Weights,
): void {
  const others = new Map([...weights].map(([name, source]) => [name, arrangedIn(source)]));
  const bySize = parameters
    .filter(({ name }) => others.get(name)?.length === 0)
    .toSorted((one, other) => one.byteLength - other.byteLength);
  const carrier = present(bySize[0], "a parameter");
  const written = new Set([...others.values()].flat().map(({ key }) => key));
  const arranged = new Map(
    parameters.flatMap((parameter) =>
      parameter.arranged.filter(({ key }) => !written.has(key)).map((one) => [one.key, one]),
    ),
  );
  const pieces: FilePiece[] = [];
  let byteLength = 0;
  const place = (piece: FilePiece): FilePiece => {
    const placed = { offset: byteLength, byteLength: piece.byteLength };
    pieces.push(piece);
    byteLength += padded(piece.byteLength);
    return placed;
  };
  const places: ArrangedIndex = {
    carrier: { name: carrier.name, offset: place(carrier).offset },
    arranged: [...arranged.values()].map(({ key, pieces: some }) => ({ key, pieces: some.map(place) })),
    byteLength,
  };
  const [from, to] = [openSync(dataFile, "r"), openSync(file, "w")];
  try {
    const text = Buffer.from(JSON.stringify({ ...places, byteLength }));
    const head = Buffer.alloc(padded(lengthBytes + text.length));
    head.writeUInt32LE(text.length, 0);
    text.copy(head, lengthBytes);
    writeAll(to, head);
    for (const piece of pieces) copyPiece(from, to, piece);
    fsyncSync(to);
  } finally {
    closeSync(from);
    closeSync(to);
  }
}

/** Returns the arranged weights that are stored in the same file as a weight; empty if there are none. */
function arrangedIn(source: WeightSource): readonly ArrangedWeight[] {
  return "file" in source ? (source.arranged ?? []) : [];
}

function copyPiece(from: number, to: number, { offset, byteLength }: FilePiece): void {
  const buffer = Buffer.alloc(Math.min(byteLength, copiedBytesMax));
  for (let done = 0; done < byteLength;) {
    const count = readSync(from, buffer, 0, Math.min(buffer.length, byteLength - done), offset + done);
    assert(count > 0, `the runtime wrote ${byteLength} bytes at ${offset}`);
    writeAll(to, buffer.subarray(0, count));
    done += count;
  }
  writeAll(to, Buffer.alloc(padded(byteLength) - byteLength));
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done);
}

function padded(byteLength: number): number {
  return Math.ceil(byteLength / pageBytes) * pageBytes;
}
