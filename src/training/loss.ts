// The policy-gradient loss as graph nodes over the trained tokens of a minibatch: importance ratios, their caps and
// masks, then CISPO (arXiv:2506.13585) or PPO (arXiv:1707.06347). The configuration decides which nodes there are.
// Log-probabilities come from the model, advantages and weights from the data; gradients are the caller's to add.
import type { GraphBuilder } from "../graph/builder.ts";
import type { Value } from "../graph/graph.ts";
import type { TrainingConfig } from "../domain/training-config.ts";

/** The part of a training configuration that shapes the loss; everything else shapes data or steps. */
export type LossConfig = Pick<
  TrainingConfig,
  | "epsilon"
  | "epsilonHigh"
  | "importanceSamplingLevel"
  | "k2Tau"
  | "maskProbRatio"
  | "maxNegativeAdvantageImportanceSamplingWeight"
  | "ppo"
>;

/** What a run is given beside tokens; N trained tokens of S sequences, in one flat order. */
export interface LossInputs {
  /** float32 [N]: of the policy that sampled; any finite number where it is not known. */
  readonly oldLogprobs_N: Value;
  /** bool [N]: false takes the current log-probability, without gradient, for the old one. */
  readonly isOldKnown_N: Value;
  /** float32 [N] */
  readonly advantages_N: Value;
  /** float32 [N]: already divided by the number of trained tokens; their weighted sum is the loss. */
  readonly weights_N: Value;
  /** Present where the importance sampling level looks at whole sequences. */
  readonly sequences: {
    /** int64 [N]: in [0, S). */
    readonly indices_N: Value;
    /** float32 [S]: how many trained tokens each has. */
    readonly sizes_S: Value;
  } | null;
}

export interface PolicyLoss {
  /** Scalar: what a step makes smaller. */
  readonly loss: Value;
  /** [N]: before weights. */
  readonly perToken_N: Value;
}

/** Ratios beyond e^±20 are cut there, so that a token of nearly no old probability does not overflow. */
const LOG_RATIO_MAX = 20;

/** Declares the loss's inputs; which there are depends on the configuration alone. */
export function addLossInputs(builder: GraphBuilder, config: LossConfig): LossInputs {
  return {
    oldLogprobs_N: builder.input("old_logprobs", "float32", ["N"]),
    isOldKnown_N: builder.input("is_old_known", "bool", ["N"]),
    advantages_N: builder.input("advantages", "float32", ["N"]),
    weights_N: builder.input("loss_weights", "float32", ["N"]),
    sequences: needsSequences(config)
      ? {
          indices_N: builder.input("sequence_indices", "int64", ["N"]),
          sizes_S: builder.input("sequence_sizes", "float32", ["S"]),
        }
      : null,
  };
}

export function needsSequences(config: LossConfig): boolean {
  return config.importanceSamplingLevel !== "token";
}

/**
 * Adds the loss of the given log-probabilities [N].
 *
 * @param config as it takes effect, defaults filled in
 */
export function addPolicyLoss(
  builder: GraphBuilder,
  logprobs_N: Value,
  inputs: LossInputs,
  config: LossConfig,
): PolicyLoss {
  const current_N = builder.stopGradient(logprobs_N);
  const old_N = builder.where(inputs.isOldKnown_N, inputs.oldLogprobs_N, current_N);
  const difference_N = builder.subtract(logprobs_N, old_N);
  const ratio_N = adjustedRatio(builder, difference_N, inputs, config);
  const clipped_N = builder.clip(ratio_N, 1 - config.epsilon, 1 + config.epsilonHigh);
  const advantages_N = adjustedAdvantages(builder, difference_N, inputs, config);
  const perToken_N = config.ppo
    ? // Pessimistic: whichever of the two promises less.
      builder.negate(
        builder.minimum(builder.multiply(ratio_N, advantages_N), builder.multiply(clipped_N, advantages_N)),
      )
    : // The ratio only weighs; every token keeps a gradient, clipped ones included.
      builder.negate(
        builder.multiply(builder.multiply(builder.stopGradient(clipped_N), advantages_N), logprobs_N),
      );
  return { loss: builder.reduceSum(builder.multiply(perToken_N, inputs.weights_N)), perToken_N };
}

function adjustedRatio(
  builder: GraphBuilder,
  difference_N: Value,
  inputs: LossInputs,
  config: LossConfig,
): Value {
  const { maxNegativeAdvantageImportanceSamplingWeight: cap, epsilon, epsilonHigh } = config;
  let ratio_N = importanceRatio(builder, difference_N, inputs, config);
  // The cap holds whatever the sign of the advantage; its name says otherwise for history's sake.
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
  inputs: LossInputs,
  { importanceSamplingLevel: level }: LossConfig,
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
  // The root of a product of exponentials.
  return exponential(builder.multiply(builder.add(difference_N, mean_N), 0.5));
}

function adjustedAdvantages(
  builder: GraphBuilder,
  difference_N: Value,
  { advantages_N }: LossInputs,
  { k2Tau }: LossConfig,
): Value {
  if (k2Tau === 0) return advantages_N;
  return builder.subtract(advantages_N, builder.multiply(builder.stopGradient(difference_N), k2Tau));
}
