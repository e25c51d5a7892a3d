// Layers whose state is one matrix per head: how tokens change the state, and which values they read from it.
import { present } from "../../../base/domain/assert.ts";
import type { GraphBuilder } from "../../../lib/graph/builder.ts";
import { chunkedDelta } from "../../../lib/graph/delta.ts";
import type { Dimension } from "../../../lib/graph/dimension.ts";
import { chunkedGated } from "../../../lib/graph/gated.ts";
import type { Value } from "../../../lib/graph/graph.ts";
import type { ModelConfig } from "../config.ts";

/** Dimensions of a state, and the rule by which tokens change it. */
export interface Recurrence {
  /**
   * `delta`: a token corrects the value that the state has for the token's key. `gated`: a token's value is added to
   * the state.
   */
  readonly rule: "delta" | "gated";
  /** Number of heads of queries and keys. Each of these heads belongs to several consecutive heads of the state. */
  readonly keyHeads: number;
  readonly heads: number;
  readonly keySize: number;
  readonly valueSize: number;
}

/**
 * Inputs of a recurrence: q and k [B, T, G*K], v [B, T, H*V], logDecay and strength [B, T, H]. A token with strength 0
 * and logDecay 0 leaves the state unchanged.
 */
export type RecurrenceInputs = Readonly<Record<"q" | "k" | "v" | "logDecay" | "strength", Value>>;

/** Returns the recurrence of a model's layers with delta rules or Mamba-2; null if it has no such layers. */
export function recurrenceOf({ delta, mamba }: Pick<ModelConfig, "delta" | "mamba">): Recurrence | null {
  if (delta !== null) {
    const { valueHeads: heads, keySize, valueSize } = delta;
    return { rule: "delta", keyHeads: heads, heads, keySize, valueSize };
  }
  if (mamba === null) return null;
  const { groups, heads, stateSize, headSize } = mamba;
  return { rule: "gated", keyHeads: groups, heads, keySize: stateSize, valueSize: headSize };
}

/** Returns the dimensions of a layer's state, [H, K, V]. */
export function matrixDims(config: ModelConfig): readonly number[] {
  const { heads, keySize, valueSize } = present(recurrenceOf(config), "a recurrence");
  return [heads, keySize, valueSize];
}

/**
 * For serving: takes the state [B, H, K, V] before the new tokens. Returns the values that these tokens read, and the
 * state after the last of them.
 */
export function recallAfter(
  builder: GraphBuilder,
  config: ModelConfig,
  inputs: RecurrenceInputs,
  state: Value,
): { readonly result: Value; readonly newState: Value } {
  const { rule, keyHeads, heads, keySize } = present(recurrenceOf(config), "a recurrence");
  return rule === "delta"
    ? builder.deltaAttention(inputs, state, { heads, scale: 1 / Math.sqrt(keySize) })
    : builder.gatedAttention(withStrength(builder, inputs), state, { keyHeads, heads });
}

/**
 * For training: returns the values that each token of whole rows reads from the state. Each row begins with a state of
 * zeros.
 */
export function recallChunks(
  builder: GraphBuilder,
  config: ModelConfig,
  inputs: RecurrenceInputs,
  chunks: Dimension,
): Value {
  const { rule, keyHeads, heads, keySize } = present(recurrenceOf(config), "a recurrence");
  return rule === "delta"
    ? chunkedDelta(builder, inputs, { heads, scale: 1 / Math.sqrt(keySize), chunks })
    : chunkedGated(builder, withStrength(builder, inputs), { keyHeads, heads, chunks });
}

/** Multiplies each head of the values by its strength. */
function withStrength(builder: GraphBuilder, inputs: RecurrenceInputs): RecurrenceInputs {
  const { v, strength } = inputs;
  const [rows, length, heads] = strength.shape;
  const byHead = builder.reshape(v, [rows, length, heads, Number(v.shape[2]) / Number(heads)]);
  const product = builder.multiply(byHead, builder.reshape(strength, [rows, length, heads, 1]));
  return { ...inputs, v: builder.reshape(product, v.shape) };
}

/**
 * Returns log(1 + exp(x)), as the negative logarithm of a softmax over x and 0. The runtime's logarithm may round the
 * same number differently at the end of a tensor; a softmax is computed row by row.
 */
export function softplus(builder: GraphBuilder, x: Value): Value {
  const column = builder.reshape(x, [...x.shape, 1]);
  const logits = builder.concat([column, builder.full(column.shape, 0)], -1);
  const ofZero = builder.slice(builder.logSoftmax(logits), -1, 1, 2);
  return builder.negate(builder.reshape(ofZero, x.shape));
}
