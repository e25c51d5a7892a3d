// Builds the losses of ../losses as graph nodes over the trained tokens of a microbatch; the caller adds up the
// gradients of the microbatches. Computing the loss outside the graph would need a forward pass before each gradient, a
// third of a step's time or more.
import { unreachable } from "../../../base/domain/assert.ts";
import type { GraphBuilder } from "../../../lib/graph/builder.ts";
import type { Value } from "../../../lib/graph/graph.ts";
import { LOG_RATIO_MAX } from "../losses/policy.ts";
import { type Loss, type PolicyLossConfig, hasKlPenalty } from "../trainer.ts";
import { preferenceLoss } from "./preference-loss.ts";

export interface LossNodes {
  /**
   * Scalar to minimize. If a preference spans several microbatches, each microbatch's loss includes that preference's
   * whole loss.
   */
  readonly loss: Value;
  /** float32 [N]: loss of each trained token before weighting; null for a loss that is not a sum over tokens. */
  readonly perToken_N: Value | null;
  /**
   * float32 [N]: the input `loss_weights`, each token's weight divided by the number of trained tokens in the batch.
   */
  readonly weights_N: Value;
}

/**
 * Inputs of the policy loss in addition to log-probabilities and weights. N is the number of trained tokens in the
 * microbatch, S the number of sequences.
 */
interface PolicyInputs {
  /** float32 [N]: log-probability of each token under the sampling policy; any finite number if unknown. */
  readonly oldLogprobs_N: Value;
  /**
   * bool [N]: false if a token's `oldLogprobs_N` is unknown; its current log-probability, without gradient, then
   * replaces it.
   */
  readonly isOldKnown_N: Value;
  /** float32 [N]: advantage of each token. */
  readonly advantages_N: Value;
  /** Assignment of tokens to sequences; null if importance sampling works per token. */
  readonly sequences: {
    /** int64 [N]: index of each token's sequence, in [0, S). */
    readonly indices_N: Value;
    /** float32 [S]: number of trained tokens in each sequence. */
    readonly sizes_S: Value;
  } | null;
  /** Inputs of the KL penalty; null if the loss has no KL penalty. */
  readonly reference: {
    /** float32 [N]: log-probability of each token under the base model. */
    readonly logprobs_N: Value;
    /** float32 [1]: 1 divided by the number of trained tokens in the whole batch. */
    readonly share_1: Value;
    /** float32 [1]: what the other microbatches contribute to the batch's mean log ratio (policy to base model). */
    readonly elsewhere_1: Value;
  } | null;
}

/**
 * True if the loss compares the current policy with the sampling policy. Such a loss has the inputs of the policy loss.
 */
export function needsOldLogprobs(loss: Loss): boolean {
  return loss.kind === "policy";
}

/** True if the loss uses means over whole sequences. Such a loss has the inputs `sequences` of the policy loss. */
export function needsSequences(loss: Loss): boolean {
  return loss.kind === "policy" && loss.config.importanceSamplingLevel !== "token";
}

/**
 * Adds a loss node to a program and declares the inputs that it needs. `logprobs_N` are the log-probabilities of the
 * trained tokens. The set of inputs depends only on `loss`.
 */
export function addLoss(builder: GraphBuilder, logprobs_N: Value, loss: Loss): LossNodes {
  const weights_N = builder.input("loss_weights", "float32", ["N"]);
  if (loss.kind === "preference")
    return { loss: preferenceLoss(builder, logprobs_N, loss), perToken_N: null, weights_N };
  const perToken_N = lossPerToken(builder, logprobs_N, loss);
  return { loss: builder.reduceSum(builder.multiply(perToken_N, weights_N)), perToken_N, weights_N };
}

function lossPerToken(
  builder: GraphBuilder,
  logprobs_N: Value,
  loss: Exclude<Loss, { readonly kind: "preference" }>,
): Value {
  switch (loss.kind) {
    case "policy":
      return policyLoss(builder, logprobs_N, loss);
    case "cross-entropy":
      return builder.negate(logprobs_N);
    default:
      return unreachable(loss);
  }
}

function policyLoss(builder: GraphBuilder, logprobs_N: Value, loss: Loss & { kind: "policy" }): Value {
  const { config } = loss;
  const inputs = addPolicyInputs(builder, loss);
  const current_N = builder.stopGradient(logprobs_N);
  const old_N = builder.where(inputs.isOldKnown_N, inputs.oldLogprobs_N, current_N);
  const difference_N = builder.subtract(logprobs_N, old_N);
  const ratio_N = adjustedRatio(builder, difference_N, inputs, config);
  const clipped_N = builder.clip(ratio_N, 1 - config.epsilon, 1 + config.epsilonHigh);
  const compared_N = config.klPenaltySource === "sample" ? old_N : current_N;
  const advantages_N = penalizedAdvantages(builder, compared_N, inputs, {
    advantages_N: adjustedAdvantages(builder, difference_N, inputs, config),
    coefficient: config.klPenaltyCoefficient,
  });
  return config.ppo
    ? // PPO is pessimistic: it takes the smaller of the clipped and the unclipped objective.
      builder.negate(
        builder.minimum(builder.multiply(ratio_N, advantages_N), builder.multiply(clipped_N, advantages_N)),
      )
    : // CISPO uses the ratio only as a weight, so each token keeps a gradient, even if its ratio is clipped.
      builder.negate(
        builder.multiply(builder.multiply(builder.stopGradient(clipped_N), advantages_N), logprobs_N),
      );
}

function addPolicyInputs(builder: GraphBuilder, loss: Loss): PolicyInputs {
  return {
    oldLogprobs_N: builder.input("old_logprobs", "float32", ["N"]),
    isOldKnown_N: builder.input("is_old_known", "bool", ["N"]),
    advantages_N: builder.input("advantages", "float32", ["N"]),
    sequences: needsSequences(loss)
      ? {
          indices_N: builder.input("sequence_indices", "int64", ["N"]),
          sizes_S: builder.input("sequence_sizes", "float32", ["S"]),
        }
      : null,
    reference: hasKlPenalty(loss)
      ? {
          logprobs_N: builder.input("reference_logprobs", "float32", ["N"]),
          share_1: builder.input("kl_share", "float32", [1]),
          elsewhere_1: builder.input("kl_elsewhere", "float32", [1]),
        }
      : null,
  };
}

function adjustedRatio(
  builder: GraphBuilder,
  difference_N: Value,
  inputs: PolicyInputs,
  config: PolicyLossConfig,
): Value {
  const { maxNegativeAdvantageImportanceSamplingWeight: cap, epsilon, epsilonHigh } = config;
  let ratio_N = importanceRatio(builder, difference_N, inputs, config);
  // Despite "NegativeAdvantage" in the setting's historical name, the cap applies to all advantages.
  if (cap > 0) ratio_N = builder.clip(ratio_N, -Infinity, cap);
  if (!config.maskProbRatio) return ratio_N;
  const isInside_N = builder.and(
    builder.greater(ratio_N, 1 - epsilon),
    builder.less(ratio_N, 1 + epsilonHigh),
  );
  return builder.where(isInside_N, ratio_N, 0);
}

function importanceRatio(
  builder: GraphBuilder,
  difference_N: Value,
  inputs: PolicyInputs,
  { importanceSamplingLevel: level }: PolicyLossConfig,
): Value {
  const exponential = (x: Value): Value => builder.exp(builder.clip(x, -LOG_RATIO_MAX, LOG_RATIO_MAX));
  if (level === "token" || inputs.sequences === null) return exponential(difference_N);
  const { indices_N, sizes_S } = inputs.sequences;
  const sums_S = builder.scatterAddRows(difference_N, indices_N, "S");
  const mean_N = builder.gatherRows(builder.divide(sums_S, sizes_S), indices_N);
  if (level === "sequence") return exponential(mean_N);
  if (level === "average") {
    return builder.multiply(builder.add(exponential(difference_N), exponential(mean_N)), 0.5);
  }
  // The geometric mean of the token's own ratio and its sequence's mean ratio.
  return exponential(builder.multiply(builder.add(difference_N, mean_N), 0.5));
}

function adjustedAdvantages(
  builder: GraphBuilder,
  difference_N: Value,
  { advantages_N }: PolicyInputs,
  { k2Tau }: PolicyLossConfig,
): Value {
  if (k2Tau === 0) return advantages_N;
  return builder.subtract(advantages_N, builder.multiply(builder.stopGradient(difference_N), k2Tau));
}

/**
 * Adds a KL penalty to the advantages. The penalty lowers the advantage of tokens that the policy makes likelier than
 * the base model does, and raises that of less likely ones. The mean advantage stays the same.
 */
function penalizedAdvantages(
  builder: GraphBuilder,
  compared_N: Value,
  { reference }: PolicyInputs,
  { advantages_N, coefficient }: { readonly advantages_N: Value; readonly coefficient: number },
): Value {
  if (reference === null) return advantages_N;
  const kl_N = builder.subtract(compared_N, reference.logprobs_N);
  const here_1 = builder.multiply(builder.reduceSum(kl_N), reference.share_1);
  const mean_1 = builder.add(here_1, reference.elsewhere_1);
  return builder.add(advantages_N, builder.multiply(builder.subtract(mean_1, kl_N), coefficient));
}
