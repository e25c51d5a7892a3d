/**
 * Plain dense arrays for the reference interpreter: indexing, broadcasting, reducing.
 *
 * Written to be obviously correct, not fast. All types are stored as float64; booleans are 0 and 1.
 */
import { isDeepStrictEqual } from "node:util";
import { present } from "../../../base/domain/assert.ts";
import { elementCount } from "../tensor.ts";
import type { Tensor } from "../tensor.ts";

export interface Dense {
  readonly dims: readonly number[];
  readonly data: Float64Array;
}

/** Makes an array from a function of the coordinates, which must not keep its argument. */
export function denseFrom(dims: readonly number[], at: (coordinates: readonly number[]) => number): Dense {
  const data = new Float64Array(elementCount(dims));
  // Increments the coordinates in place, because a new list per element would take most of the time.
  const coordinates = dims.map(() => 0);
  for (let position = 0; position < data.length; position++) {
    data[position] = at(coordinates);
    for (let axis = dims.length - 1; axis >= 0; axis--) {
      coordinates[axis] += 1;
      if (coordinates[axis] < dims[axis]) break;
      coordinates[axis] = 0;
    }
  }
  return { dims, data };
}

/** Converts a tensor, for example to feed the interpreter. */
export function toDense({ dims, data }: Tensor): Dense {
  return { dims, data: Float64Array.from(data as ArrayLike<number | bigint>, Number) };
}

/** Returns the element at coordinates; axes of size 1 and missing leading axes are broadcast. */
export function elementAt({ dims, data }: Dense, coordinates: readonly number[]): number {
  return present(data[positionOf(dims, coordinates)], "an element");
}

/** Returns the position of the element at coordinates. */
export function positionOf(dims: readonly number[], coordinates: readonly number[]): number {
  const offset = coordinates.length - dims.length;
  let position = 0;
  for (let axis = 0; axis < dims.length; axis++) {
    const size = present(dims[axis], "a size");
    const coordinate = size === 1 ? 0 : present(coordinates[axis + offset], "a coordinate");
    // The message is built only on failure, since it would take most of the time.
    if (!(coordinate >= 0 && coordinate < size)) throw outside(coordinate, size);
    position = position * size + coordinate;
  }
  return position;
}

/**
 * Returns a function that reads the elements of one matrix of x. The matrix spans the last two axes; `outer` selects it
 * in the leading axes, which are broadcast.
 */
export function matrixAt(x: Dense, outer: readonly number[]): (row: number, column: number) => number {
  const [rows = 1, columns = 1] = x.dims.slice(-2);
  const start = rows * columns * positionOf(x.dims.slice(0, -2), outer);
  return (row, column) => {
    if (!(row >= 0 && row < rows)) throw outside(row, rows);
    if (!(column >= 0 && column < columns)) throw outside(column, columns);
    return present(x.data[start + row * columns + column], "an element");
  };
}

/** Applies a function elementwise over broadcast operands. */
export function mapDense(operands: readonly Dense[], combine: (...elements: number[]) => number): Dense {
  const rank = Math.max(...operands.map(({ dims }) => dims.length));
  const dims = Array.from({ length: rank }, (_, axis) => {
    const sizes = operands.map((operand) => operand.dims[axis - rank + operand.dims.length] ?? 1);
    return sizes.find((size) => size !== 1) ?? 1;
  });
  const [first, second] = operands;
  if (operands.every((operand) => isDeepStrictEqual(operand.dims, dims))) {
    if (operands.length === 1) return { dims, data: first.data.map((element) => combine(element)) };
    if (operands.length === 2)
      return { dims, data: first.data.map((element, place) => combine(element, second.data[place])) };
    return { dims, data: first.data.map((_, place) => combine(...operands.map(({ data }) => data[place]))) };
  }
  if (operands.length === 2)
    return denseFrom(dims, (at) => combine(elementAt(first, at), elementAt(second, at)));
  return denseFrom(dims, (at) => combine(...operands.map((operand) => elementAt(operand, at))));
}

/** Reduces each of the axes to one element. A reduced axis keeps size 1 or is dropped, as `keepDimensions` says. */
export function reduceDense(
  x: Dense,
  options: { readonly axes: readonly number[]; readonly keepDimensions: boolean },
  fold: (elements: readonly number[]) => number,
): Dense {
  const { axes, keepDimensions } = options;
  const kept = x.dims.map((size, axis) => (axes.includes(axis) ? 1 : size));
  const groups = Array.from({ length: elementCount(kept) }, (): number[] => []);
  // Maps each element to the position of its group, since `positionOf` broadcasts axes of size 1.
  const groupOf = denseFrom(x.dims, (at) => positionOf(kept, at)).data;
  x.data.forEach((element, place) => present(groups[groupOf[place]], "a group").push(element));
  const dims = keepDimensions ? kept : kept.filter((_, axis) => !axes.includes(axis));
  return { dims, data: Float64Array.from(groups, fold) };
}

/** Applies a function to each row of the last axis. */
export function mapRows(x: Dense, map: (row: Float64Array) => ArrayLike<number>): Dense {
  const width = x.dims.at(-1) ?? 1;
  const rows: number[][] = [];
  for (let start = 0; start < x.data.length; start += width) {
    rows.push(Array.from(map(x.data.subarray(start, start + width))));
  }
  const size = rows[0]?.length ?? width;
  return { dims: [...x.dims.slice(0, -1), size], data: Float64Array.from(rows.flat()) };
}

/** Returns the list with one entry replaced. */
export function withEntry(list: readonly number[], index: number, entry: number): number[] {
  return list.map((old, other) => (other === index ? entry : old));
}

function outside(coordinate: number, size: number): Error {
  return new RangeError(`index ${coordinate} in an axis of ${size}`);
}

/** Returns the coordinates of the element at a position. */
export function coordinatesOf(dims: readonly number[], position: number): number[] {
  const coordinates = Array.from(dims, () => 0);
  let rest = position;
  for (let axis = dims.length - 1; axis >= 0; axis--) {
    const size = present(dims[axis], "a size");
    coordinates[axis] = rest % size;
    rest = Math.floor(rest / size);
  }
  return coordinates;
}
