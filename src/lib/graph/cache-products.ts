// Multiplies rows of queries and of probabilities by a cache. If the right operand of a product is a single matrix, the
// runtime computes all rows together, with a kernel that sums in another order. A cache with one key head is such a
// matrix if the batch has one row, so this module divides it into several pieces.
import type { GraphBuilder } from "./builder.ts";
import { dimensionProduct, type Dimension, type Shape } from "./dimension.ts";
import type { Value } from "./graph.ts";
import { dimensionAt } from "./shape-rules.ts";

/** Number of positions in a piece: half of the granularity of capacities, so that there are at least two pieces. */
const piecePositions = 32;

/**
 * Returns the dimensions of a cache [B, Hkv, C, K] in pieces: [B, Hkv, 1, C, K], or [B, 1, C/32, 32, K] for one head.
 */
export function cacheDims(
  rows: number,
  kvHeads: number,
  capacity: number,
  headSize: number,
): readonly number[] {
  if (kvHeads > 1) return [rows, kvHeads, 1, capacity, headSize];
  return [rows, 1, capacity / piecePositions, piecePositions, headSize];
}

/**
 * Returns the shape of an input with {@link cacheDims}, and its capacity C.
 *
 * @param name symbol that is bound to the capacity, or to the number of pieces
 */
export function cacheForm(
  rows: Dimension,
  kvHeads: number,
  name: string,
  headSize: number,
): { readonly shape: Shape; readonly capacity: Dimension } {
  if (kvHeads > 1) return { shape: [rows, kvHeads, 1, name, headSize], capacity: name };
  const pieces = `P${name}`;
  return {
    shape: [rows, 1, pieces, piecePositions, headSize],
    capacity: dimensionProduct([pieces, piecePositions]),
  };
}

/**
 * Multiplies queries by keys.
 *
 * @param queries [...tokens, Hkv, G, 1, K]
 * @param cache [B, Hkv, C, K] or as in {@link cacheDims}
 * @param cached first dimensions of the cache, as many as there are in `tokens`
 * @returns [...tokens, Hkv, G, 1, C]
 */
export function queryProducts(builder: GraphBuilder, queries: Value, cache: Value, cached: Shape): Value {
  const { kvHeads, pieces, size, headSize } = sizesOf(cache);
  if (pieces === 1) {
    const keys = builder.reshape(cache, [...cached, kvHeads, 1, size, headSize]);
    return builder.matMul(queries, keys, { transposeB: true });
  }
  // For queries, two halves of the cache are enough; they take fewer products than pieces of 32 positions.
  const half = dimensionProduct([pieces, piecePositions / 2]);
  const keys = builder.reshape(cache, [...cached, kvHeads, 1, 2, half, headSize]);
  const [tokens, group] = [queries.shape.slice(0, -4), dimensionAt(queries.shape, -3)];
  const rows = builder.reshape(queries, [...tokens, kvHeads, group, 1, 1, headSize]);
  return builder.reshape(builder.matMul(rows, keys, { transposeB: true }), [
    ...tokens,
    kvHeads,
    group,
    1,
    dimensionProduct([pieces, size]),
  ]);
}

/**
 * Multiplies probabilities by values, like {@link queryProducts}. Sums of pieces are added in the order of positions,
 * so that further positions with a probability of zero change no bit.
 *
 * @param probabilities [...tokens, Hkv, G, 1, C]
 * @returns [...tokens, Hkv, G, 1, K]
 */
export function valueProducts(
  builder: GraphBuilder,
  probabilities: Value,
  cache: Value,
  cached: Shape,
): Value {
  const { kvHeads, pieces, size, headSize } = sizesOf(cache);
  if (pieces === 1)
    return builder.matMul(probabilities, builder.reshape(cache, [...cached, kvHeads, 1, size, headSize]));
  const [tokens, group] = [probabilities.shape.slice(0, -4), dimensionAt(probabilities.shape, -3)];
  const rows = builder.reshape(probabilities, [...tokens, kvHeads, group, pieces, 1, size]);
  const values = builder.reshape(cache, [...cached, kvHeads, 1, pieces, size, headSize]);
  const sums = builder.reshape(builder.matMul(rows, values), [...tokens, kvHeads, group, pieces, headSize]);
  return builder.matMul(builder.full([1, pieces], 1), sums);
}

function sizesOf({ shape }: Value) {
  const [kvHeads, size, headSize] = [1, -2, -1].map((axis) => dimensionAt(shape, axis));
  return { kvHeads, pieces: shape.length === 5 ? dimensionAt(shape, 2) : 1, size, headSize };
}
