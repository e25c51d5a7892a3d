// Builds the losses of ../losses/preference.ts as graph nodes over a microbatch's trained tokens. A preference's margin
// is the sum over this microbatch's tokens, plus a constant for its tokens in other microbatches. Each microbatch
// yields the gradient of its own tokens.
import { unreachable } from "../../../base/domain/assert.ts";
import type { GraphBuilder } from "../../../lib/graph/builder.ts";
import type { Value } from "../../../lib/graph/graph.ts";
import { type Loss, type PreferenceLossConfig, hasReference } from "../trainer.ts";

/**
 * Adds the scalar preference loss of N trained tokens in Q preferences to a program, and declares its inputs:
 * - `preference_indices` int64 [N] in [0, Q)
 * - `margin_factors` float32 [N]
 * - `margins_elsewhere` and `preference_weights` float32 [Q]
 * - `reference_logprobs` float32 [N] if the loss uses a reference
 */
export function preferenceLoss(
  builder: GraphBuilder,
  logprobs_N: Value,
  loss: Loss & { readonly kind: "preference" },
): Value {
  const indices_N = builder.input("preference_indices", "int64", ["N"]);
  const factors_N = builder.input("margin_factors", "float32", ["N"]);
  const elsewhere_Q = builder.input("margins_elsewhere", "float32", ["Q"]);
  const weights_Q = builder.input("preference_weights", "float32", ["Q"]);
  const ratios_N = hasReference(loss)
    ? builder.subtract(logprobs_N, builder.input("reference_logprobs", "float32", ["N"]))
    : logprobs_N;
  const here_Q = builder.scatterAddRows(builder.multiply(ratios_N, factors_N), indices_N, "Q");
  const losses_Q = lossOfMargins(builder, builder.add(here_Q, elsewhere_Q), loss.config);
  return builder.reduceSum(builder.multiply(losses_Q, weights_Q));
}

function lossOfMargins(
  builder: GraphBuilder,
  margins_Q: Value,
  { loss, beta, labelSmoothing: noise, gamma }: PreferenceLossConfig,
): Value {
  switch (loss) {
    case "dpo":
    case "simpo": {
      const scaled_Q = builder.multiply(margins_Q, beta);
      const rewards_Q = loss === "simpo" ? builder.subtract(scaled_Q, gamma) : scaled_Q;
      const preferred_Q = builder.multiply(logSigmoid(builder, rewards_Q), noise - 1);
      if (noise === 0) return preferred_Q;
      const reversed_Q = builder.multiply(logSigmoid(builder, builder.negate(rewards_Q)), noise);
      return builder.subtract(preferred_Q, reversed_Q);
    }
    case "ipo": {
      const differences_Q = builder.subtract(margins_Q, 1 / (2 * beta));
      return builder.multiply(differences_Q, differences_Q);
    }
    case "kto":
      return builder.sigmoid(builder.multiply(margins_Q, -beta));
    default:
      return unreachable(loss);
  }
}

/**
 * Adds nodes that compute log(sigmoid(x)) without overflow. It computes |x| as x − 2 · min(x, 0), so that the slope at
 * x = 0 is 1/2.
 */
function logSigmoid(builder: GraphBuilder, x: Value): Value {
  const low = builder.minimum(x, 0);
  const absolute = builder.subtract(x, builder.multiply(low, 2));
  const exponential = builder.exp(builder.negate(absolute));
  return builder.subtract(low, builder.log(builder.add(exponential, 1)));
}
