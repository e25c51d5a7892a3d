/**
 * Builds the gated delta rule, a linear form of attention with a state, for training. Plain operations compute all
 * positions of a chunk together, and a scan passes the state between chunks (WY representation; arXiv:2406.06484, with
 * decay as in arXiv:2412.06464). Serving uses a fused operation instead (`GraphBuilder.deltaAttention`), whose results
 * agree up to rounding.
 */
import type { GraphBuilder } from "./builder.ts";
import { dimensionProduct } from "./dimension.ts";
import type { Dimension } from "./dimension.ts";
import type { Value } from "./graph.ts";
import { dimensionAt } from "./shape-rules.ts";

/** Number of positions in a chunk. */
export const chunkSize = 64;

export interface ChunkedDeltaOptions {
  readonly heads: number;
  readonly scale: number;
  /** Number of chunks. Together they have room for all positions. */
  readonly chunks: Dimension;
}

/**
 * Returns the values that each position reads from the state, which starts with zeros.
 *
 * @param inputs q and k [B, T, H*K]; v [B, T, H*V]; logDecay (at most 0) and strength [B, T, H]
 * @returns [B, T, H*V]
 */
export function chunkedDelta(
  builder: GraphBuilder,
  inputs: Readonly<Record<"q" | "k" | "v" | "logDecay" | "strength", Value>>,
  { heads, scale, chunks }: ChunkedDeltaOptions,
): Value {
  const [rows, length] = inputs.q.shape as [Dimension, Dimension];
  const toChunks = (x: Value): Value => intoChunks(builder, x, { heads, chunks });
  const [q, k, v] = [inputs.q, inputs.k, inputs.v].map(toChunks);
  const strength = toChunks(inputs.strength);
  const decays = cumulativeDecays(builder, toChunks(inputs.logDecay));
  const written = builder.multiply(k, strength);
  const pairs = (a: Value, b: Value): Value =>
    builder.multiply(builder.matMul(a, b, { transposeB: true }), decays.between);
  const inverse = builder.unitLowerInverse(pairs(written, k));
  const scaledQ = builder.multiply(q, scale);
  const result = builder.deltaScan({
    u: builder.matMul(inverse, builder.multiply(v, strength)),
    w: builder.matMul(inverse, builder.multiply(written, decays.sinceStart)),
    q: builder.multiply(scaledQ, decays.sinceStart),
    p: pairs(scaledQ, k),
    k: builder.multiply(k, decays.untilEnd),
    decay: builder.exp(decays.logWhole),
  });
  const width = dimensionProduct([heads, dimensionAt(result.shape, 4)]);
  const padded = builder.reshape(builder.transpose(result, [1, 0, 3, 2, 4]), [
    rows,
    dimensionProduct([chunks, chunkSize]),
    width,
  ]);
  return builder.slice(padded, 1, 0, length);
}

/** Cuts [B, T, H*X] into chunks [N, B, H, C, X], and pads the last chunk with zeros, which change no state. */
function intoChunks(
  builder: GraphBuilder,
  x: Value,
  { heads, chunks }: Pick<ChunkedDeltaOptions, "heads" | "chunks">,
): Value {
  const [rows, , width] = x.shape;
  const size = dimensionProduct([chunks, chunkSize]);
  const filled = builder.slice(builder.concat([x, builder.full([rows, size, width], 0)], 1), 1, 0, size);
  const split = builder.reshape(filled, [rows, chunks, chunkSize, heads, Number(width) / heads]);
  return builder.transpose(split, [1, 0, 3, 2, 4]);
}

/** Factors by which the state decays between positions of a chunk. */
interface ChunkDecays {
  /** Decay factor from the start of the chunk to each position, including the position's own decay: [..., C, 1]. */
  readonly sinceStart: Value;
  /** Decay factor from each position to the end of the chunk: [..., C, 1]. */
  readonly untilEnd: Value;
  /** Decay factor from the column's position to the row's position; 0 above the diagonal: [..., C, C]. */
  readonly between: Value;
  /** Logarithm of the decay over the whole chunk: [..., 1, 1]. */
  readonly logWhole: Value;
}

/** Returns the decays within chunks, from the logarithm of each position's decay [..., C, 1]. */
export function cumulativeDecays(builder: GraphBuilder, logDecay: Value): ChunkDecays {
  const { sums, between, sinceStart } = decaysBetween(builder, logDecay);
  const size = Number(dimensionAt(logDecay.shape, -2));
  const ofEnd = (x: Value): Value => builder.slice(x, -2, size - 1, size);
  return {
    sinceStart: builder.exp(sinceStart),
    untilEnd: builder.exp(builder.reshape(ofEnd(sums), logDecay.shape)),
    between,
    logWhole: ofEnd(sinceStart),
  };
}

/**
 * Returns the decays `between` [..., C, C] from the column's position to the row's, their logarithms `sums`, and the
 * logarithms `sinceStart` [..., C, 1]. Computes the decay between two positions as a sum over the positions between
 * them. The difference of two sums since the start would lose digits, because a state may decay within few positions.
 *
 * @param logDecay logarithm of each position's decay, [..., C, 1]
 */
export function decaysBetween(
  builder: GraphBuilder,
  logDecay: Value,
): Readonly<Record<"sums" | "between" | "sinceStart", Value>> {
  const count = dimensionAt(logDecay.shape, -2);
  const across = builder.reshape(logDecay, [...logDecay.shape.slice(0, -2), 1, count]);
  const column = builder.iota(count);
  const row = builder.reshape(column, [count, 1]);
  const isVisible = builder.greaterOrEqual(row, column);
  const upToRow = builder.multiply(across, builder.cast(isVisible, "float32"));
  const afterColumn = builder.cast(builder.greater(row, column), "float32");
  const sums = builder.matMul(upToRow, afterColumn);
  return {
    sums,
    between: builder.exp(builder.where(isVisible, sums, hidden)),
    sinceStart: builder.reduceSum(upToRow, [-1], true),
  };
}

/** Exponent so low that its power of e is 0. */
const hidden = -1e30;
