// The computation of a layer with Mamba-2 (arXiv:2405.21060) between its two projections.
import { present } from "../../../base/domain/assert.ts";
import type { GraphBuilder } from "../../../lib/graph/builder.ts";
import type { Dimension } from "../../../lib/graph/dimension.ts";
import type { Value } from "../../../lib/graph/graph.ts";
import type { MambaConfig, ModelConfig } from "../config.ts";
import { type RecurrenceInputs, softplus } from "./recurrence.ts";

export interface MambaParts {
  /** Returns the result of the layer's convolution over positions. */
  readonly convolved: (x: Value) => Value;
  /** Returns the values that each token reads from the state. */
  readonly recall: (inputs: RecurrenceInputs) => Value;
  readonly weight: (name: "decay" | "stepBias" | "skip" | "norm") => Value;
}

/**
 * Computes the input of the layer's output projection.
 *
 * @param projected [B, T, H*P + W + H]: a gate, the convolution's input, and each head's step size
 * @returns [B, T, H*P]
 */
export function mambaOutput(
  builder: GraphBuilder,
  { mamba: settings, normEpsilon }: ModelConfig,
  projected: Value,
  { convolved, recall, weight }: MambaParts,
): Value {
  const mamba = present(settings, "Mamba-2 settings");
  const { groups, heads, headSize, stateSize } = mamba;
  const [inner, keys] = [heads * headSize, groups * stateSize];
  const [rows, length] = projected.shape as [Dimension, Dimension];
  const part = (x: Value, from: number, size: number): Value => builder.slice(x, -1, from, from + size);
  const mixed = builder.silu(convolved(part(projected, inner, inner + 2 * keys)));
  const v = part(mixed, 0, inner);
  const step = limited(
    builder,
    softplus(builder, builder.add(part(projected, 2 * inner + 2 * keys, heads), weight("stepBias"))),
    mamba,
  );
  const recalled = recall({
    q: part(mixed, inner + keys, keys),
    k: part(mixed, inner, keys),
    v,
    logDecay: builder.multiply(step, builder.negate(builder.exp(weight("decay")))),
    strength: step,
  });
  const byHead = builder.reshape(v, [rows, length, heads, headSize]);
  const skipped = builder.multiply(byHead, builder.reshape(weight("skip"), [heads, 1]));
  const sum = builder.add(recalled, builder.reshape(skipped, recalled.shape));
  const gated = builder.multiply(sum, builder.silu(part(projected, 0, inner)));
  if (groups === 1) return builder.rmsNorm(gated, weight("norm"), normEpsilon);
  const byGroup = builder.reshape(gated, [rows, length, groups, inner / groups]);
  const normed = builder.rmsNorm(byGroup, builder.full([inner / groups], 1), normEpsilon);
  return builder.multiply(builder.reshape(normed, gated.shape), weight("norm"));
}

function limited(builder: GraphBuilder, step: Value, { stepMin, stepMax }: MambaConfig): Value {
  const isUnlimited = stepMin <= 0 && stepMax === Infinity;
  return isUnlimited ? step : builder.clip(step, stepMin, stepMax);
}
