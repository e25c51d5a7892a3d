// Builds a mixture of experts: a router chooses a few experts for each token, and the result is the sum of their
// results, each times a factor. Each token forms a pair with each of its experts; a pair is one row of the matrix
// products.
import { present } from "../../../base/domain/assert.ts";
import type { GraphBuilder } from "../../../lib/graph/builder.ts";
import { dimensionProduct } from "../../../lib/graph/dimension.ts";
import type { Value } from "../../../lib/graph/graph.ts";
import { dimensionAt } from "../../../lib/graph/shape-rules.ts";
import type { ModelConfig } from "../config.ts";
import { expertNames, stackBiasName } from "./expert-parameters.ts";

/**
 * Multiplies each row of x [P, K] by the weight of the row's own expert; `experts`, int64 [P], has the index of that
 * expert. Returns [P, N].
 */
export type ExpertLinear = (name: string, x: Value, experts: Value) => Value;

/** Number of tokens that a graph computes: `many`, as for prompts, or `few`, as when decoding. */
export type TokenCount = "many" | "few";

/**
 * Number of rows of one expert that are computed together. With few tokens, an expert rarely has several rows. The
 * runtime has a fast product for single rows of float32, while up to four rows of 8-bit codes take as long as one row.
 */
export const tileRows: Readonly<Record<TokenCount, Readonly<Record<"float32" | "codes", number>>>> = {
  many: { float32: 32, codes: 32 },
  few: { float32: 1, codes: 4 },
};

interface MixtureParts {
  readonly weight: (name: string) => Value;
  readonly expertLinear: ExpertLinear;
}

/** Computes the output [T, D] of a layer's experts for x [T, D]. */
export function expertMixture(
  builder: GraphBuilder,
  config: ModelConfig,
  layer: number,
  { x, weight, expertLinear }: MixtureParts & { readonly x: Value },
): Value {
  const { activeCount, intermediateSize, hasBias } = present(config.experts, "experts");
  const [count, width] = x.shape;
  const names = expertNames(config, layer);
  const { ids, factors } = chosenExperts(
    builder,
    config,
    routerLogits(builder, config, layer, { x, weight }),
  );
  const pairs = dimensionProduct([count, activeCount]);
  const experts = builder.reshape(ids, [pairs]);
  const byPair = builder.expand(builder.reshape(x, [count, 1, width]), [count, activeCount, width]);
  const linear = (name: string, rows: Value): Value => {
    const products = expertLinear(name, rows, experts);
    if (!hasBias) return products;
    return builder.add(products, builder.gatherRows(weight(stackBiasName(name)), experts));
  };
  const gateUp = linear(names.gateUp, builder.reshape(byPair, [pairs, width]));
  const gate = builder.slice(gateUp, -1, 0, intermediateSize);
  const up = builder.slice(gateUp, -1, intermediateSize);
  const results = linear(names.down, activated(builder, config, gate, up));
  const byToken = builder.reshape(results, [count, activeCount, width]);
  return weightedSum(builder, builder.reshape(factors, [count, 1, activeCount]), byToken);
}

/** Applies the activation to `gate`, and multiplies the result by `up`. */
function activated(builder: GraphBuilder, { experts }: ModelConfig, gate: Value, up: Value): Value {
  const { clamp } = present(experts, "experts");
  if (clamp === null) return builder.multiply(builder.silu(gate), up);
  const { limit, factor } = clamp;
  const clampedGate = builder.minimum(gate, limit);
  const clampedUp = builder.clip(up, -limit, limit);
  // Computes g · sigmoid(factor · g), where g is the clamped gate.
  const inner = builder.multiply(builder.silu(builder.multiply(clampedGate, factor)), 1 / factor);
  return builder.multiply(inner, builder.add(clampedUp, 1));
}

function routerLogits(
  builder: GraphBuilder,
  config: ModelConfig,
  layer: number,
  { x, weight }: { readonly x: Value; readonly weight: MixtureParts["weight"] },
): Value {
  const { router, routerBias } = expertNames(config, layer);
  const products = builder.kept(builder.matMul(x, weight(router), { transposeB: true }));
  return present(config.experts, "experts").hasBias ? builder.add(products, weight(routerBias)) : products;
}

/** Returns the experts of each token, int64 [T, A], and their factors, float32 [T, A]. */
function chosenExperts(
  builder: GraphBuilder,
  config: ModelConfig,
  logits: Value,
): { readonly ids: Value; readonly factors: Value } {
  const { activeCount, isNormalized } = present(config.experts, "experts");
  const ids = builder.kept(builder.topIds(logits, activeCount));
  // The softmax of the chosen logits equals the chosen probabilities divided by their sum.
  const factors = isNormalized
    ? builder.softmax(builder.gatherLast(logits, ids))
    : builder.gatherLast(builder.softmax(logits), ids);
  return { ids, factors };
}

/**
 * Sums results [T, A, D] with factors [T, 1, A]. The factors 2 and 1/2 change no bit. They prevent the runtime from
 * using its kernel for single rows, whose order of sums may depend on the number of tokens.
 */
function weightedSum(builder: GraphBuilder, factors: Value, results: Value): Value {
  const sum = builder.matMul(builder.multiply(factors, 2), results, { alpha: 0.5 });
  return builder.reshape(sum, [dimensionAt(results.shape, 0), dimensionAt(results.shape, 2)]);
}
