// Tensors with data, which a program takes and returns, and the check of feeds against a graph's inputs. Data is
// row-major. This module copies nothing; a tensor borrows its array.
import { assert } from "../../base/domain/assert.ts";
import type { DataType, Graph, TensorType } from "./graph.ts";
import { evaluateDimension, isSymbol } from "./dimension.ts";
import { formatShape } from "./shape-rules.ts";

/** The array type of each data type; booleans are bytes 0 and 1. */
export interface DataArrays {
  readonly float32: Float32Array;
  readonly int64: BigInt64Array;
  readonly int32: Int32Array;
  readonly int8: Int8Array;
  readonly uint8: Uint8Array;
  readonly bool: Uint8Array;
}

export type Tensor<D extends DataType = DataType> = {
  readonly [P in D]: {
    readonly dtype: P;
    readonly dims: readonly number[];
    readonly data: DataArrays[P];
  };
}[D];

/** Wraps float32 data; its length must be the product of `dims`. */
export function float32Tensor(dims: readonly number[], data: Float32Array): Tensor<"float32"> {
  requireLength(dims, data.length);
  return { dtype: "float32", dims, data };
}

/** Wraps int64 data, or converts numbers to it; the length must be the product of `dims`. */
export function int64Tensor(
  dims: readonly number[],
  data: BigInt64Array | readonly number[],
): Tensor<"int64"> {
  requireLength(dims, data.length);
  const array = data instanceof BigInt64Array ? data : BigInt64Array.from(data, BigInt);
  return { dtype: "int64", dims, data: array };
}

/** Returns the data of a tensor that must be float32. */
export function float32Data(tensor: Tensor | undefined): Float32Array {
  assert(tensor?.dtype === "float32", `a float32 tensor, got ${tensor?.dtype}`);
  return tensor.data;
}

/** Returns the number of elements of a tensor with these sizes. */
export function elementCount(dims: readonly number[]): number {
  return dims.reduce((product, size) => product * size, 1);
}

function requireLength(dims: readonly number[], length: number): void {
  assert(elementCount(dims) === length, `[${dims.join(", ")}] does not hold ${length} elements`);
}

/**
 * Binds each plain symbol to its size in the feeds.
 *
 * Asserts that the feeds are exactly the graph's inputs, with matching types and consistent sizes.
 */
export function bindSymbols(
  graph: Graph,
  feeds: Readonly<Record<string, Tensor>>,
): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  // Builds messages only for a mismatch, because a decoding step has hundreds of inputs.
  for (const { name, value } of graph.inputs) {
    const feed = feeds[name];
    if (feed?.dtype !== value.dtype || feed.dims.length !== value.shape.length) refuse(name, value, feed);
    for (const [axis, size] of value.shape.entries()) {
      if (isSymbol(size) && !sizes.has(size)) sizes.set(size, feed.dims[axis] ?? 0);
    }
  }
  for (const { name, value } of graph.inputs) {
    const dims = feeds[name]?.dims;
    for (const [axis, size] of value.shape.entries()) {
      const expected = typeof size === "number" ? size : (sizes.get(size) ?? evaluateDimension(size, sizes));
      const actual = dims?.[axis];
      if (actual === expected) continue;
      assert(false, `axis ${axis} of input ${name} is ${size} = ${expected}, got ${actual}`);
    }
  }
  const names = Object.keys(feeds);
  if (names.length !== graph.inputs.length) {
    assert(false, `the feeds are exactly the inputs, got ${names.join(", ")}`);
  }
  return sizes;
}

function refuse(name: string, { dtype, shape }: TensorType, feed: Tensor | undefined): never {
  assert(feed !== undefined, `the feeds contain the input ${name}`);
  const actual = `${feed.dtype} ${formatShape(feed.dims)}`;
  assert(false, `input ${name} is ${dtype} ${formatShape(shape)}, got ${actual}`);
}
