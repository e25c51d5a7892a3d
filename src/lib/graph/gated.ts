/**
 * Builds linear attention with decay from plain operations over chunks of positions, for training (the duality of state
 * space models and attention; arXiv:2405.21060). Serving uses a fused operation instead
 * (`GraphBuilder.gatedAttention`), whose results agree up to rounding.
 */
import type { GraphBuilder } from "./builder.ts";
import { chunkSize, cumulativeDecays, decaysBetween } from "./delta.ts";
import { type Dimension, dimensionProduct } from "./dimension.ts";
import type { Value } from "./graph.ts";

export interface ChunkedGatedOptions {
  /** Number of heads of queries and keys. Each of these heads belongs to several consecutive value heads. */
  readonly keyHeads: number;
  readonly heads: number;
  /** Number of chunks. Together they have room for all positions. */
  readonly chunks: Dimension;
  /** Number of positions in a chunk. */
  readonly size?: number;
}

/**
 * Returns the values that each position reads from the state, which starts with zeros.
 *
 * @param inputs q and k [B, T, G*K]; v [B, T, H*V]; logDecay (at most 0) [B, T, H]
 * @returns [B, T, H*V]
 */
export function chunkedGated(
  builder: GraphBuilder,
  inputs: Readonly<Record<"q" | "k" | "v" | "logDecay", Value>>,
  { keyHeads, heads, chunks, size = chunkSize }: ChunkedGatedOptions,
): Value {
  const toChunks = (x: Value, perKey: number): Value =>
    intoChunks(builder, x, { outer: [keyHeads, perKey], chunks, size });
  const perKey = heads / keyHeads;
  const [q, k] = [inputs.q, inputs.k].map((x) => toChunks(x, 1));
  const v = toChunks(inputs.v, perKey);
  const decays = cumulativeDecays(builder, toChunks(inputs.logDecay, perKey));
  const scores = builder.multiply(builder.matMul(q, k, { transposeB: true }), decays.between);
  const written = builder.matMul(k, builder.multiply(v, decays.untilEnd), { transposeA: true });
  const before = statesBefore(builder, written, decays.logWhole);
  const read = builder.multiply(builder.matMul(q, before), decays.sinceStart);
  const result = builder.add(builder.matMul(scores, v), read);
  const [rows, length, width] = inputs.v.shape;
  const padded = builder.reshape(builder.transpose(result, [0, 3, 4, 1, 2, 5]), [
    rows,
    dimensionProduct([chunks, size]),
    width,
  ]);
  return builder.slice(padded, 1, 0, length);
}

/**
 * Returns the state before each chunk, [B, G, H/G, N, K, V]. One product computes all states, as sums over earlier
 * chunks.
 *
 * @param written numbers that each chunk adds to the state, [B, G, H/G, N, K, V]; `logDecay` of each chunk is [B, G,
 *   H/G, N, 1, 1]
 */
function statesBefore(builder: GraphBuilder, written: Value, logDecay: Value): Value {
  const [rows, keyHeads, perKey, chunks, keySize, valueSize] = written.shape;
  const outer = [rows, keyHeads, perKey];
  const size = dimensionProduct([keySize, valueSize]);
  const { between } = decaysBetween(builder, builder.reshape(logDecay, [...outer, chunks, 1]));
  const after = builder.matMul(between, builder.reshape(written, [...outer, chunks, size]));
  const shifted = builder.concat([builder.full([...outer, 1, size], 0), after], 3);
  return builder.reshape(builder.slice(shifted, 3, 0, chunks), written.shape);
}

/** Cuts [B, T, G*E*X] into chunks [B, G, E, N, C, X]; zeros, which change no state, fill up the last chunk. */
function intoChunks(
  builder: GraphBuilder,
  x: Value,
  {
    outer,
    chunks,
    size,
  }: { readonly outer: readonly [number, number]; readonly chunks: Dimension; readonly size: number },
): Value {
  const [rows, , width] = x.shape;
  const room = dimensionProduct([chunks, size]);
  const filled = builder.slice(builder.concat([x, builder.full([rows, room, width], 0)], 1), 1, 0, room);
  const each = Number(width) / (outer[0] * outer[1]);
  const split = builder.reshape(filled, [rows, chunks, size, ...outer, each]);
  return builder.transpose(split, [0, 3, 4, 1, 2, 5]);
}
