// Rounds a weight to 8-bit codes, a few rows at a time: the float32 values of a whole embedding take gigabytes, while
// those of some rows fit in the processor's caches.
import { closeSync, openSync } from "node:fs";
import { bytesOf } from "../../../lib/graph/weight-source.ts";
import { type BlockTypeName, decodeBlocks } from "../../../lib/model-files/gguf/block-types.ts";
import {
  isPlainType,
  readBytes,
  readFloats,
  readInto,
  rowsOf,
  rowsReadTogether,
  storedRowOf,
  type StoredTensor,
} from "../../../lib/model-files/stored-tensor.ts";
import { blockLength, RowRounder, turnedRows, type ValueType } from "../../../lib/vectors/vectors.ts";
import { roundRotated, writeColumns } from "./quantize.ts";
import { rotationSize } from "./rotation.ts";

/** Reads rows of a weight. */
export interface RowReader {
  /** Rows are read in multiples of this number. */
  readonly together: number;
  /** Returns `count` rows, beginning with row `from`, as [count, K]. */
  readonly floats: (from: number, count: number) => Float32Array;
  /** Reads values without new memory; absent if only `floats` reads them. */
  readonly stored?: StoredRows;
}

interface StoredRows {
  /** Type in which `read` writes the values. */
  readonly type: ValueType;
  readonly read: (from: number, count: number, into: Uint8Array) => void;
}

/** Maximum number of values that are rounded at a time. Rows that must be read together may have more values. */
const roundedCountMax = 2 ** 16;

/** Calls a function with a reader of a tensor's rows. */
export function withRowsOf<Result>(tensor: StoredTensor, use: (reader: RowReader) => Result): Result {
  const reader: RowReader = {
    together: rowsReadTogether(tensor),
    floats: (from, count) => readFloats(rowsOf(tensor, from, count)),
  };
  const { type, rearranged, pieces, blockScales } = tensor;
  const isReordered = rearranged !== undefined && rearranged.kind !== "paired-rows";
  if (isReordered || pieces !== undefined || blockScales !== undefined) return use(reader);
  const descriptor = openSync(tensor.file, "r");
  try {
    const read: StoredRows["read"] = (from, count, into) =>
      readRows(descriptor, rowsOf(tensor, from, count), into);
    const known = ({ F16: "float16", BF16: "bfloat16", F32: "float32" } as const)[type as string];
    if (known !== undefined) return use({ ...reader, stored: { type: known, read } });
    return isPlainType(type) ? use(reader) : use({ ...reader, stored: decodedRows(type, tensor, read) });
  } finally {
    closeSync(descriptor);
  }
}

/** Decodes rows that are stored in blocks. The same memory is used for the blocks of all rows. */
function decodedRows(
  type: BlockTypeName,
  { shape: [rowCount, K], byteLength }: StoredTensor,
  read: StoredRows["read"],
): StoredRows {
  let blocks = new Uint8Array(0);
  return {
    type: "float32",
    read: (from, count, into) => {
      const needed = (count * byteLength) / rowCount;
      if (blocks.length < needed) blocks = new Uint8Array(needed);
      read(from, count, blocks);
      const values = new Float32Array(into.buffer, into.byteOffset, count * K);
      decodeBlocks(type, blocks.subarray(0, needed), values);
    },
  };
}

/** Reads all rows of a tensor, in their order. */
function readRows(descriptor: number, tensor: StoredTensor, into: Uint8Array): void {
  const { byteLength, shape } = tensor;
  const storedOf = storedRowOf(tensor);
  if (storedOf === null) {
    readInto(descriptor, into.subarray(0, byteLength), tensor);
    return;
  }
  const stored = readBytes(descriptor, tensor);
  const rowBytes = byteLength / shape[0];
  for (let row = 0; row < shape[0]; row++) {
    const at = storedOf(row) * rowBytes;
    into.set(stored.subarray(at, at + rowBytes), row * rowBytes);
  }
}

export interface RoundedCodes {
  /** Codes [N, K]; empty if not wanted. The next call overwrites them. */
  readonly rows: Int8Array;
  /** Codes [K, N]; empty if not wanted. The next call overwrites them. */
  readonly columns: Int8Array;
  /** Scale of each row, [N]. */
  readonly scales: Float32Array;
}

interface WantedCodes {
  readonly hasRows?: boolean;
  readonly hasColumns?: boolean;
}

/** Created at first use, because most processes convert nothing. */
let rounder: RowRounder | null = null;

/** Frees the memory of earlier conversions, which may be as large as a model's largest weight. */
export function freeRoundedCodes(): void {
  rounder = null;
}

/** Rotates the rows of a weight [N, K], and rounds them to 8 bits. */
export function roundedCodes(reader: RowReader, shape: readonly number[], wanted: WantedCodes): RoundedCodes {
  const isFast = rotationSize(shape[1]) === blockLength;
  return isFast ? fastCodes(reader, shape, wanted) : plainCodes(reader, shape, wanted);
}

function fastCodes(
  { together, floats, stored }: RowReader,
  [N, K]: readonly number[],
  { hasRows = false, hasColumns = false }: WantedCodes,
): RoundedCodes {
  const step = rowsAtOnce(wholeUnit(together, turnedRows), K);
  const sliceRows = stored === undefined ? rowsAtOnce(turnedRows, K) : step;
  const scales = new Float32Array(N);
  rounder ??= new RowRounder();
  rounder.begin({ K, rowCount: N, sliceRows, hasRows, hasColumns });
  for (let first = 0; first < N; first += step) {
    const end = Math.min(first + step, N);
    const values = stored === undefined ? floats(first, end - first) : null;
    for (let from = first; from < end; from += sliceRows) {
      const count = Math.min(sliceRows, end - from);
      if (values !== null)
        rounder.values.set(bytesOf(values.subarray((from - first) * K, (from - first + count) * K)));
      else stored?.read(from, count, rounder.values);
      const slice = rounder.round(count, stored?.type ?? "float32", from);
      if (!slice.isExact) {
        const plain = values?.subarray((from - first) * K, (from - first + count) * K) ?? floats(from, count);
        const exact = roundRotated(plain, K);
        slice.rows.set(exact.rows);
        slice.scales.set(exact.scales);
      }
      scales.set(slice.scales, from);
      if (hasColumns) rounder.turn(count, from);
    }
  }
  const none = new Int8Array(0);
  return {
    rows: hasRows ? rounder.rows() : none,
    columns: hasColumns ? rounder.columns() : none,
    scales,
  };
}

function plainCodes(
  { together, floats }: RowReader,
  [N, K]: readonly number[],
  { hasRows = false, hasColumns = false }: WantedCodes,
): RoundedCodes {
  const step = rowsAtOnce(together, K);
  const rows = new Int8Array(hasRows ? N * K : 0);
  const columns = new Int8Array(hasColumns ? N * K : 0);
  const scales = new Float32Array(N);
  for (let from = 0; from < N; from += step) {
    const slice = roundRotated(floats(from, Math.min(step, N - from)), K);
    scales.set(slice.scales, from);
    if (hasRows) rows.set(slice.rows, from * K);
    if (hasColumns) writeColumns(slice.rows, K, columns, { from, N });
  }
  return { rows, columns, scales };
}

/** Returns a multiple of `unit` rows, as many as are rounded at a time. */
function rowsAtOnce(unit: number, K: number): number {
  return unit * Math.max(1, Math.floor(roundedCountMax / (K * unit)));
}

/** Returns a common multiple of two numbers of rows. */
export function wholeUnit(together: number, multiple: number): number {
  return together % multiple === 0 ? together : together * multiple;
}
