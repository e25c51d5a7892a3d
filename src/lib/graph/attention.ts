/**
 * Builds attention from plain operations, and the masks added to its scores. Query heads that share a key head become
 * additional rows of one matrix, so keys and values are never repeated. For whole sequences, serving uses a fused
 * operation instead (`GraphBuilder.causalAttention`).
 * - Shapes: B rows, T tokens of a row, Hq query heads, Hkv key and value heads, K head size.
 */
import { assert } from "../../base/domain/assert.ts";
import type { GraphBuilder } from "./builder.ts";
import { queryProducts, valueProducts } from "./cache-products.ts";
import { dimensionProduct, dimensionSum } from "./dimension.ts";
import type { Dimension } from "./dimension.ts";
import type { Value } from "./graph.ts";
import { dimensionAt } from "./shape-rules.ts";

/** Mask value, far below any score, but finite, so that a fully masked row gives no NaN. */
const MASKED = -1e30;

export interface AttentionOptions {
  readonly queryHeads: number;
  readonly kvHeads: number;
  readonly headSize: number;
  /** Factor of the scores, usually headSize^-0.5. */
  readonly scale: number;
  /** Additional score [Hq] of each query head, which takes a part of the probability; absent if there is none. */
  readonly sinks?: Value | undefined;
  /** Mask added to the scores; its shape depends on the function that takes these options. */
  readonly mask: Value;
}

/**
 * Builds the mask of whole sequences.
 *
 * @param window number of tokens that a position sees, including itself; unlimited if absent
 * @returns float32 [T, T], 0 where the row may see the column
 */
export function causalMask(builder: GraphBuilder, length: Dimension, window?: number): Value {
  const position = builder.iota(length);
  const queries = builder.reshape(position, [length, 1]);
  const keys = builder.reshape(position, [1, length]);
  return toMask(builder, isVisible(builder, queries, keys, window));
}

/**
 * Builds the mask of rows that each continue a prefix. A row's keys are the keys of the prefix, then its own keys.
 *
 * @param options.prefixLengths int64 [B], the length of each row's prefix; the rest is padding
 * @param options.prefixCapacity P, the length of the longest prefix
 * @param options.window number of tokens that a position sees, including itself; unlimited if absent
 * @returns float32 [B, 1, 1, T, P+T], 0 where the row may see the column
 */
export function continuationMask(
  builder: GraphBuilder,
  options: {
    readonly prefixLengths: Value;
    readonly prefixCapacity: Dimension;
    readonly length: Dimension;
    readonly window?: number | undefined;
  },
): Value {
  const { prefixLengths, prefixCapacity, length, window } = options;
  const rows = dimensionAt(prefixLengths.shape, 0);
  const lengths = builder.reshape(prefixLengths, [rows, 1, 1]);
  const queries = builder.reshape(builder.iota(length), [1, length, 1]);
  const before = builder.reshape(builder.iota(prefixCapacity), [1, 1, prefixCapacity]);
  const own = builder.reshape(builder.iota(length), [1, 1, length]);
  const inPrefix = builder.less(before, lengths);
  const distance = builder.subtract(builder.add(lengths, queries), before);
  const prefixVisible =
    window === undefined ? inPrefix : builder.and(inPrefix, builder.less(distance, window));
  const visible = builder.concat(
    [
      builder.expand(prefixVisible, [rows, length, prefixCapacity]),
      builder.expand(isVisible(builder, queries, own, window), [rows, length, length]),
    ],
    2,
  );
  const keys = dimensionSum([prefixCapacity, length]);
  return builder.reshape(toMask(builder, visible), [rows, 1, 1, length, keys]);
}

/**
 * Builds the mask of one new token per row, over itself and a cache that each row has filled to a different length.
 *
 * @param options.pastLengths int64 [B], the length of the filled part of the cache, which is also the position of the
 * new token
 * @param options.capacity C, the cache's size
 * @param options.window number of tokens that a position sees, including itself; unlimited if absent
 * @returns float32 [B, 1, 1, 1, 1+C], the new token first
 */
export function cacheMask(
  builder: GraphBuilder,
  options: {
    readonly pastLengths: Value;
    readonly capacity: Dimension;
    readonly window?: number | undefined;
  },
): Value {
  const { pastLengths, capacity, window } = options;
  const rows = dimensionAt(pastLengths.shape, 0);
  const past = builder.reshape(pastLengths, [rows, 1]);
  const slots = builder.reshape(builder.iota(capacity), [1, capacity]);
  const inCache = builder.less(slots, past);
  const cacheVisible =
    window === undefined
      ? inCache
      : builder.and(inCache, builder.less(builder.subtract(past, slots), window));
  const newVisible = builder.full([rows, 1], 1, "bool");
  const mask = toMask(builder, builder.concat([newVisible, cacheVisible], 1));
  return builder.reshape(mask, [rows, 1, 1, 1, dimensionSum([capacity, 1])]);
}

/**
 * Builds differentiable self-attention over sequences, for training. Each sequence may continue a prefix.
 *
 * @param q [B, T, Hq*K]; k and v [B, S, Hkv*K], with S = T without a prefix; position embeddings already applied
 * @param options.mask broadcastable to [B, Hkv, Hq/Hkv, T, S], such as `causalMask` or `continuationMask`
 * @returns [B, T, Hq*K]
 */
export function selfAttention(
  builder: GraphBuilder,
  inputs: { readonly q: Value; readonly k: Value; readonly v: Value },
  options: AttentionOptions,
): Value {
  const queries = groupQueries(builder, inputs.q, options);
  const keys = splitHeads(builder, inputs.k, options);
  const values = splitHeads(builder, inputs.v, options);
  const scores = builder.matMul(queries, keys, { transposeB: true, alpha: options.scale });
  const probabilities = maskedSoftmax(builder, scores, { q: inputs.q, ...options });
  return ungroupQueries(builder, builder.matMul(probabilities, values), inputs.q, options);
}

export interface CacheAttentionInputs {
  /** Queries [B, 1, Hq*K], or [B, T, Hq*K] if each of a row's T tokens sees a different part of the row's cache. */
  readonly q: Value;
  readonly k: Value;
  readonly v: Value;
  readonly cacheKeys: Value;
  readonly cacheValues: Value;
}

export interface CacheAttentionResults {
  readonly attention: Value;
  readonly keys: Value;
  readonly values: Value;
}

/**
 * Builds attention of one new token per row to a cache and itself, for serving. T tokens per row are computed as T rows
 * that read one cache, with the same bits.
 * - The cache is only an input. If it were also an output, the runtime would copy it in each run.
 * - The new token comes first in the softmax, so a larger cache only adds zeros to the end of its sums. A row's result
 *   is bit for bit independent of the other rows and the capacity, if capacities are multiples of 64 and exceed all
 *   past lengths.
 * - Each query head is a matrix of one row, broadcast over its key head. Products of one row read the cache in place;
 *   products of a few rows first pack all of it (measured: twice to four times slower).
 *
 * @param inputs q [B, T, Hq*K]; k and v [B, T, Hkv*K]; cacheKeys and cacheValues [B, Hkv, C, K], or in the shape of
 *   `cacheDims`, which products of one token per row use unchanged
 * @param options.mask `cacheMask` of B*T past lengths and the same C
 * @returns attention [B, T, Hq*K], and the new keys and values, each [B, Hkv, 1, 1, K], or [B, T, Hkv, 1, 1, K]
 */
export function cacheAttention(
  builder: GraphBuilder,
  inputs: CacheAttentionInputs,
  options: AttentionOptions,
): CacheAttentionResults {
  const { q, k, v, cacheKeys, cacheValues } = inputs;
  const { kvHeads, headSize, scale, mask } = options;
  const [rows, length] = sizes(q);
  const capacity = dimensionProduct(cacheKeys.shape.slice(2, -1));
  const [tokens, cached] =
    length === 1
      ? [[rows], [rows]]
      : [
          [rows, length],
          [rows, 1],
        ];
  const newShape = [...tokens, kvHeads, 1, 1, headSize];
  const maskShape = [...tokens, 1, 1, 1, dimensionSum([capacity, 1])];
  // Scales the queries before the product. With a factor inside the product, the runtime would not use its fast kernel
  // for products of one row.
  const scaled = scale === 1 ? q : builder.multiply(q, scale);
  const queries = builder.reshape(scaled, [...tokens, kvHeads, groupSize(options), 1, headSize]);
  const keys = builder.reshape(k, newShape);
  const values = builder.reshape(v, newShape);
  const scores = builder.concat(
    [
      builder.reduceSum(builder.multiply(queries, keys), [-1], true),
      queryProducts(builder, queries, cacheKeys, cached),
    ],
    -1,
  );
  const masked = builder.add(scores, builder.reshape(mask, maskShape));
  const probabilities = sinkingSoftmax(builder, masked, options);
  const attended = builder.add(
    builder.multiply(builder.slice(probabilities, -1, 0, 1), values),
    valueProducts(builder, builder.slice(probabilities, -1, 1), cacheValues, cached),
  );
  return { attention: builder.reshape(attended, q.shape), keys, values };
}

function isVisible(builder: GraphBuilder, queries: Value, keys: Value, window: number | undefined): Value {
  const isBefore = builder.lessOrEqual(keys, queries);
  if (window === undefined) return isBefore;
  return builder.and(isBefore, builder.less(builder.subtract(queries, keys), window));
}

function toMask(builder: GraphBuilder, visible: Value): Value {
  return builder.where(visible, builder.scalar(0), builder.scalar(MASKED));
}

/** Reshapes [B, T, Hkv*K] to [B, Hkv, T, K]. */
function splitHeads(builder: GraphBuilder, x: Value, { kvHeads, headSize }: AttentionOptions): Value {
  const [rows, length] = sizes(x);
  const split = builder.reshape(x, [rows, length, kvHeads, headSize]);
  return builder.transpose(split, [0, 2, 1, 3]);
}

/** Reshapes [B, T, Hq*K] to [B, Hkv, (Hq/Hkv)*T, K]. */
function groupQueries(builder: GraphBuilder, q: Value, options: AttentionOptions): Value {
  const { kvHeads, headSize } = options;
  const [rows, length] = sizes(q);
  const group = groupSize(options);
  const split = builder.reshape(q, [rows, length, kvHeads * group, headSize]);
  const heads = builder.transpose(split, [0, 2, 1, 3]);
  return builder.reshape(heads, [rows, kvHeads, dimensionProduct([group, length]), headSize]);
}

/** Reverses `groupQueries`. */
function ungroupQueries(
  builder: GraphBuilder,
  grouped: Value,
  like: Value,
  options: AttentionOptions,
): Value {
  const { queryHeads, headSize } = options;
  const [rows, length] = sizes(like);
  const heads = builder.reshape(grouped, [rows, queryHeads, length, headSize]);
  return builder.reshape(builder.transpose(heads, [0, 2, 1, 3]), like.shape);
}

function maskedSoftmax(
  builder: GraphBuilder,
  scores: Value,
  options: AttentionOptions & { readonly q: Value },
): Value {
  const [rows, length] = sizes(options.q);
  // The rows of a key head are the rows of each of its query heads in turn, so the mask repeats for each query head.
  const keys = dimensionAt(scores.shape, 3);
  const perHead = builder.reshape(scores, [rows, options.kvHeads, groupSize(options), length, keys]);
  const masked = builder.add(perHead, options.mask);
  return builder.reshape(sinkingSoftmax(builder, masked, options), scores.shape);
}

/** Softmax of scores [..., Hkv, G, T, S], in which each head's sink takes a part of the probability. */
function sinkingSoftmax(builder: GraphBuilder, scores: Value, options: AttentionOptions): Value {
  const { sinks, kvHeads } = options;
  if (sinks === undefined) return builder.softmax(scores);
  const byHead = builder.reshape(sinks, [kvHeads, groupSize(options), 1, 1]);
  const column = builder.expand(byHead, [...scores.shape.slice(0, -1), 1]);
  // The sink comes first, so that more keys only add to the end of the sums.
  return builder.slice(builder.softmax(builder.concat([column, scores], -1)), -1, 1);
}

function sizes(x: Value): readonly [Dimension, Dimension] {
  return [dimensionAt(x.shape, 0), dimensionAt(x.shape, 1)];
}

function groupSize({ queryHeads, kvHeads }: AttentionOptions): number {
  assert(queryHeads % kvHeads === 0, `${queryHeads} query heads over ${kvHeads} key heads`);
  return queryHeads / kvHeads;
}
