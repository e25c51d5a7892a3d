// Loops over all weights of a model in vector code (`vector-code.ts`), which takes a fourth of the time of plain loops.
import { vectorModule } from "./vector-code.ts";

/** Number of values that {@link RowRounder} rotates together. */
export const blockLength = 64;

/** Number of rows that {@link RowRounder} transposes together. */
export const turnedRows = 16;

/** The parts of WebAssembly's interface that this module uses; Node's types do not declare them. */
interface WebAssemblyInterface {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
}

interface VectorCode {
  readonly memory: { readonly buffer: ArrayBuffer; readonly grow: (pages: number) => void };
  readonly widen: (from: number, end: number, to: number) => void;
  readonly rotate: Rotate;
  readonly rotateHalves: Rotate;
  readonly rotateShorts: Rotate;
  readonly round: (at: number, end: number, to: number, inverse: number) => void;
  readonly transpose: (at: number, end: number, stride: number, to: number, step: number) => void;
}

type Rotate = (from: number, to: number, end: number, lanes: number) => void;

let loaded: VectorCode | null = null;
let compiled: object | null = null;

/** Size of a page of the code's memory, in bytes. */
const pageBytes = 65_536;

/** Returns the code with at least this much memory. Created at first use, because most processes convert nothing. */
function codeWith(byteLength: number): VectorCode {
  loaded ??= load();
  growTo(loaded, byteLength);
  return loaded;
}

function growTo({ memory }: VectorCode, byteLength: number): void {
  const missing = byteLength - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / pageBytes));
}

function load(): VectorCode {
  // Safe cast: every supported version of Node has WebAssembly with vectors.
  const { Module, Instance } = (globalThis as unknown as { readonly WebAssembly: WebAssemblyInterface })
    .WebAssembly;
  // Safe cast: the module exports these functions.
  return new Instance((compiled ??= new Module(vectorModule()))).exports as VectorCode;
}

/** Converts float16 numbers to float32; exact. Their number must be a multiple of 8. */
export function widenHalves(halves: Uint16Array): Float32Array {
  const end = halves.byteLength;
  const { memory, widen } = codeWith(3 * end);
  new Uint16Array(memory.buffer).set(halves);
  if (end > 0) widen(0, end, end);
  return new Float32Array(memory.buffer, end, halves.length).slice();
}

/** A matrix whose rows are rounded. */
interface RoundedMatrix {
  /** Length of a row, a multiple of 64. */
  readonly K: number;
  readonly rowCount: number;
  /** Maximum number of rows that are rounded at a time. */
  readonly sliceRows: number;
  /** True to keep the codes of all rows. */
  readonly hasRows: boolean;
  /** True to also write the codes to a matrix [K, rowCount]. */
  readonly hasColumns: boolean;
}

/** Types of values that are rounded. */
export type ValueType = "float32" | "float16" | "bfloat16";

/** Codes of rows and the step of each row. */
export interface RoundedRows {
  readonly rows: Int8Array;
  readonly scales: Float32Array;
  /** False if some codes or steps may be imprecise, because the numbers of a row are tiny, large, or not finite. */
  readonly isExact: boolean;
}

/** Smallest scale whose codes {@link RowRounder.round} computes exactly; smaller scales may be denormal. */
const exactScaleMin = 2 ** -120;
/**
 * Scales of this size are not exact: a row of float16 numbers may have such a scale because of infinite numbers or NaN,
 * which count as at least 65,536. They make the largest number of a row at least 8,192.
 */
const exactScaleEnd = 64;

/**
 * Rounds the rows of a matrix in the memory of the code, to which the caller writes values, and from which it reads
 * codes. Each call of `begin` invalidates all earlier arrays.
 */
export class RowRounder {
  readonly #code = load();
  #matrix: RoundedMatrix = { K: blockLength, rowCount: 0, sliceRows: 0, hasRows: false, hasColumns: false };
  /** Distance between columns. It is no power of two, because such addresses share few places of a cache. */
  #step = 0;
  #values = 0;
  #row = 0;
  #rows = 0;
  #lanes = 0;

  /** Provides memory for a matrix, and forgets the previous one. */
  begin(matrix: RoundedMatrix): void {
    const { K, rowCount, sliceRows, hasRows, hasColumns } = matrix;
    this.#matrix = matrix;
    this.#step = wholeTurns(rowCount) + 64;
    const valueCount = wholeTurns(sliceRows) * K;
    this.#values = hasColumns ? K * this.#step : 0;
    this.#row = this.#values + 4 * valueCount;
    this.#rows = this.#row + 4 * K;
    this.#lanes = this.#rows + (hasRows ? wholeTurns(rowCount) * K : valueCount);
    growTo(this.#code, this.#lanes + 16);
  }

  /** Memory for the values of a slice. */
  get values(): Uint8Array {
    return new Uint8Array(this.#code.memory.buffer, this.#values, this.#row - this.#values);
  }

  /**
   * Multiplies each block of 64 values of the first rows by the Hadamard matrix divided by 8. Rounds each row to 127
   * positive and 127 negative steps, of which the last is the row's largest magnitude.
   *
   * @param from index of the first row in the matrix
   */
  round(count: number, type: ValueType, from: number): RoundedRows {
    const { K } = this.#matrix;
    const { rotate, rotateHalves, rotateShorts, round, memory } = this.#code;
    const rotateRow = { float32: rotate, float16: rotateHalves, bfloat16: rotateShorts }[type];
    const rowBytes = (type === "float32" ? 4 : 2) * K;
    const end = this.#row + 4 * K;
    const at = this.#rowsFrom(from);
    const rows = new Int8Array(memory.buffer, at, count * K);
    const scales = new Float32Array(count);
    const lanes = new Float32Array(memory.buffer, this.#lanes, 4);
    let isExact = true;
    for (let row = 0; row < count; row++) {
      rotateRow(this.#values + row * rowBytes, this.#row, end, this.#lanes);
      const scale = Math.fround(Math.max(lanes[0], lanes[1], lanes[2], lanes[3]) / 127);
      scales[row] = scale;
      if (scale === 0) rows.fill(0, row * K, (row + 1) * K);
      else round(this.#row, end, at + row * K, 1 / scale);
      isExact &&= scale === 0 || (scale >= exactScaleMin && scale < exactScaleEnd);
    }
    return { rows, scales, isExact };
  }

  /**
   * Writes the codes of the slice into the columns.
   *
   * @param from column of the first row, a multiple of 16
   */
  turn(count: number, from: number): void {
    const { K } = this.#matrix;
    // The last rows of a matrix may be fewer than 16. The columns of the others are beyond the matrix.
    for (let row = 0; row < count; row += turnedRows) {
      const at = this.#rowsFrom(from) + row * K;
      this.#code.transpose(at, at + K, K, from + row, this.#step);
    }
  }

  /** Returns the codes [rowCount, K]. */
  rows(): Int8Array {
    const { K, rowCount } = this.#matrix;
    return new Int8Array(this.#code.memory.buffer, this.#rows, rowCount * K);
  }

  /** Returns the codes [K, rowCount]. Called once, at the end. */
  columns(): Int8Array {
    const { K, rowCount } = this.#matrix;
    const codes = new Int8Array(this.#code.memory.buffer, 0, K * this.#step);
    for (let k = 1; k < K; k++) codes.copyWithin(k * rowCount, k * this.#step, k * this.#step + rowCount);
    return codes.subarray(0, K * rowCount);
  }

  /** Returns the address of the codes of a row. */
  #rowsFrom(from: number): number {
    const { K, hasRows } = this.#matrix;
    return this.#rows + (hasRows ? from * K : 0);
  }
}

function wholeTurns(rowCount: number): number {
  return Math.ceil(rowCount / turnedRows) * turnedRows;
}
