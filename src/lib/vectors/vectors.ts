// Loops over all weights of a model in vector code (`vector-code.ts`), which takes a fourth of the time of plain loops.
// Each function copies its operands into the memory of the code, and its results out of it.
import { vectorModule } from "./vector-code.ts";

/** Number of values that {@link roundBlocks} rotates together. */
export const blockLength = 64;

/** Number of rows that {@link turnRows} transposes together. */
export const turnedRows = 16;

/** The parts of WebAssembly's interface that this module uses; Node's types do not declare them. */
interface WebAssemblyInterface {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
}

interface VectorCode {
  readonly memory: { readonly buffer: ArrayBuffer; readonly grow: (pages: number) => void };
  readonly widen: (from: number, end: number, to: number) => void;
  readonly rotate: (at: number, end: number) => void;
  readonly largest: (at: number, end: number, to: number) => void;
  readonly round: (at: number, end: number, to: number, inverse: number) => void;
  readonly transpose: (at: number, end: number, stride: number, to: number, step: number) => void;
}

let loaded: VectorCode | null = null;

/** Size of a page of the code's memory, in bytes. */
const pageBytes = 65_536;

/** Returns the code with at least this much memory. Created at first use, because most processes convert nothing. */
function codeWith(byteLength: number): VectorCode {
  loaded ??= load();
  const missing = byteLength - loaded.memory.buffer.byteLength;
  if (missing > 0) loaded.memory.grow(Math.ceil(missing / pageBytes));
  return loaded;
}

function load(): VectorCode {
  // Safe cast: every supported version of Node has WebAssembly with vectors.
  const { Module, Instance } = (globalThis as unknown as { readonly WebAssembly: WebAssemblyInterface })
    .WebAssembly;
  // Safe cast: the module exports these functions.
  return new Instance(new Module(vectorModule())).exports as VectorCode;
}

/** Converts float16 numbers to float32; exact. Their number must be a multiple of 8. */
export function widenHalves(halves: Uint16Array): Float32Array {
  const end = halves.byteLength;
  const { memory, widen } = codeWith(3 * end);
  new Uint16Array(memory.buffer).set(halves);
  if (end > 0) widen(0, end, end);
  return new Float32Array(memory.buffer, end, halves.length).slice();
}

/**
 * Multiplies each block of 64 values by the Hadamard matrix divided by 8, and rounds each row to 127 positive and 127
 * negative steps. The last step is the row's largest magnitude. Steps below 2^-120 give imprecise codes.
 *
 * @param values rows of length K, a multiple of 64
 * @returns codes of the rows, and the step of each row
 */
export function roundBlocks(values: Float32Array, K: number): { rows: Int8Array; scales: Float32Array } {
  const count = values.length / K;
  const end = values.byteLength;
  const found = end + values.length;
  const { memory, rotate, largest, round } = codeWith(found + 16);
  new Float32Array(memory.buffer).set(values);
  rotate(0, end);
  const scales = new Float32Array(count);
  const lanes = new Float32Array(memory.buffer, found, 4);
  for (let row = 0; row < count; row++) {
    const [from, to] = [4 * row * K, 4 * (row + 1) * K];
    largest(from, to, found);
    scales[row] = Math.max(...lanes) / 127;
    round(from, to, end + row * K, 1 / scales[row]);
  }
  return { rows: new Int8Array(memory.buffer, end, values.length).slice(), scales };
}

/**
 * Writes rows of codes [count, K] into the columns of a matrix [K, N].
 *
 * @param rows `count` is a multiple of 16
 * @param from column of the first row, a multiple of 4, as is N
 */
export function turnRows(
  rows: Int8Array,
  K: number,
  columns: Int8Array,
  { from, N }: { readonly from: number; readonly N: number },
): void {
  const count = rows.length / K;
  const { memory, transpose } = codeWith(2 * rows.length);
  new Int8Array(memory.buffer).set(rows);
  for (let row = 0; row < count; row += turnedRows)
    transpose(row * K, (row + 1) * K, K, rows.length + row, count);
  // Copies words of four codes, because copying each part of a column separately takes longer.
  const turned = new Int32Array(memory.buffer, rows.length, rows.length / 4);
  const words = new Int32Array(columns.buffer, columns.byteOffset, columns.length / 4);
  const [width, step] = [count / 4, N / 4];
  for (let k = 0; k < K; k++) {
    const to = k * step + from / 4;
    for (let word = 0; word < width; word++) words[to + word] = turned[k * width + word];
  }
}
