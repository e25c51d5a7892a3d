// Arrays as PostgreSQL takes them in binary, which spares it the reading of texts: `array_recv` of
// https://github.com/postgres/postgres/blob/REL_16_STABLE/src/backend/utils/adt/arrayfuncs.c. All integers are big-endian.
import { types } from "pg";

/** Dimensions, whether there are nulls (0: not said), the type of elements; of the one dimension, its length and first index. */
const headerBytes = 5 * 4;

/** A parameter of the type `double precision[]`. */
export function doubleArray(values: Float64Array): Uint8Array {
  const elementBytes = 4 + 8;
  // A view writes numbers in a quarter of the time that a Buffer takes.
  const bytes = new DataView(new ArrayBuffer(headerBytes + values.length * elementBytes));
  writeHeader(bytes, types.builtins.FLOAT8, values.length);
  let at = headerBytes;
  for (const value of values) {
    bytes.setInt32(at, 8);
    bytes.setFloat64(at + 4, value);
    at += elementBytes;
  }
  return new Uint8Array(bytes.buffer);
}

/**
 * A parameter of the type `text[]`.
 *
 * @param column of so many texts, which `packed-columns` writes as PostgreSQL wants elements: length, then bytes
 */
export function textArray(column: Uint8Array, count: number): Uint8Array {
  const bytes = new Uint8Array(headerBytes + column.length);
  writeHeader(new DataView(bytes.buffer), types.builtins.TEXT, count);
  bytes.set(column, headerBytes);
  return bytes;
}

function writeHeader(bytes: DataView, elementType: number, count: number): void {
  for (const [index, value] of [1, 0, elementType, count, 1].entries()) bytes.setInt32(4 * index, value);
}
