// Computes the policy loss: importance ratios, their clipping and masking, then CISPO (arXiv:2506.13585) or PPO
// (arXiv:1707.06347). Pure arithmetic in double precision; batch-loss.ts sums the losses of the tokens.
import { unreachable } from "../../../base/domain/assert.ts";
import type { PolicyLossConfig } from "../trainer.ts";
import type { LossTokens, TokenLosses } from "./loss-tokens.ts";

export interface PolicyTokenLosses extends TokenLosses {
  /**
   * Importance ratio of each token before clipping: current divided by old probability, at the importance sampling
   * level.
   */
  readonly ratios: readonly number[];
  /**
   * True for each token whose ratio the bounds clip. With PPO, true only if the clipping also removes the token's
   * gradient.
   */
  readonly isClipped: readonly boolean[];
}

/** Log ratios are clipped to ±20. Otherwise, the ratio of a token with almost no old probability would overflow. */
export const LOG_RATIO_MAX = 20;

/** Computes the losses of all sequences of a batch together, because a KL penalty uses a mean over the whole batch. */
export function policyLosses(
  sequences: readonly LossTokens[],
  config: PolicyLossConfig,
): readonly PolicyTokenLosses[] {
  const differences = sequences.map((tokens) => differencesFromReference(tokens, config));
  const all = differences.flat();
  const mean = all.reduce((sum, each) => sum + each, 0) / all.length;
  const { klPenaltyCoefficient } = config;
  return sequences.map((tokens, row) => {
    const penalties = differences[row].map((each) => klPenaltyCoefficient * (mean - each));
    return lossesOf(tokens, klPenaltyCoefficient > 0 ? penalties : null, config);
  });
}

/**
 * Returns, for each token, the policy's log-probability minus the base model's. With `klPenaltySource: "sample"`, the
 * policy's log-probability is the old one if it is known; otherwise, it is the current one.
 */
function differencesFromReference(
  { logprobs, oldLogprobs, referenceLogprobs }: LossTokens,
  { klPenaltySource }: PolicyLossConfig,
): readonly number[] {
  return Array.from(logprobs, (logprob, at) => {
    const isOld = klPenaltySource === "sample" && !Number.isNaN(oldLogprobs[at]);
    return (isOld ? oldLogprobs[at] : logprob) - referenceLogprobs[at];
  });
}

/**
 * Computes the token losses of one sequence.
 *
 * @param penalties amounts that a KL penalty adds to the tokens' advantages; null without a KL penalty
 */
function lossesOf(
  { logprobs, oldLogprobs, weights, advantage }: LossTokens,
  penalties: readonly number[] | null,
  config: PolicyLossConfig,
): PolicyTokenLosses {
  // An unknown old log-probability is replaced by the current one, without gradient, so the difference is 0.
  const differences = Array.from(logprobs, (logprob, at) =>
    Number.isNaN(oldLogprobs[at]) ? 0 : logprob - oldLogprobs[at],
  );
  const size = differences.length + 1e-8;
  const mean = differences.reduce((sum, each) => sum + each, 0) / size;
  const ratios = differences.map((difference) => ratioOf(difference, mean, config));
  const tokens = ratios.map((ratio, at) => {
    const adjusted = advantage - config.k2Tau * differences[at] + (penalties?.[at] ?? 0);
    return tokenLoss(ratio.value, adjusted, logprobs[at], config);
  });
  const shared = tokens.reduce((sum, { byRatio }, at) => sum + weights[at] * byRatio * ratios[at].byMean, 0);
  return {
    losses: tokens.map(({ loss }) => loss),
    slopes: tokens.map(
      ({ byRatio, byLogprob }, at) =>
        weights[at] * (byLogprob + byRatio * ratios[at].byToken) + shared / size,
    ),
    ratios: ratios.map(({ value }) => value),
    isClipped: tokens.map(({ isClipped }) => isClipped),
  };
}

/**
 * A token's importance ratio, and its derivatives by two log ratios: the token's own (`byToken`) and the mean over its
 * sequence (`byMean`).
 */
interface Ratio {
  readonly value: number;
  readonly byToken: number;
  readonly byMean: number;
}

function ratioOf(
  difference: number,
  mean: number,
  { importanceSamplingLevel: level }: PolicyLossConfig,
): Ratio {
  const [token, sequence] = [power(difference), power(mean)];
  switch (level) {
    case "token":
      return { value: token.value, byToken: token.slope, byMean: 0 };
    case "sequence":
      return { value: sequence.value, byToken: 0, byMean: sequence.slope };
    case "average": {
      const value = (token.value + sequence.value) / 2;
      return { value, byToken: token.slope / 2, byMean: sequence.slope / 2 };
    }
    case "geometric_average": {
      // The geometric mean of the token's own ratio and its sequence's mean ratio.
      const { value, slope } = power((difference + mean) / 2);
      return { value, byToken: slope / 2, byMean: slope / 2 };
    }
    default:
      return unreachable(level);
  }
}

function power(exponent: number): { readonly value: number; readonly slope: number } {
  const value = Math.exp(Math.min(Math.max(exponent, -LOG_RATIO_MAX), LOG_RATIO_MAX));
  return { value, slope: Math.abs(exponent) <= LOG_RATIO_MAX ? value : 0 };
}

interface TokenLoss {
  readonly loss: number;
  readonly byRatio: number;
  readonly byLogprob: number;
  readonly isClipped: boolean;
}

function tokenLoss(ratio: number, advantage: number, logprob: number, config: PolicyLossConfig): TokenLoss {
  const {
    epsilon,
    epsilonHigh,
    maxNegativeAdvantageImportanceSamplingWeight: cap,
    maskProbRatio,
    ppo,
  } = config;
  const [low, high] = [1 - epsilon, 1 + epsilonHigh];
  // Despite "NegativeAdvantage" in the setting's historical name, the cap applies to all advantages.
  const capped = cap > 0 ? Math.min(ratio, cap) : ratio;
  const isMasked = maskProbRatio && !(capped > low && capped < high);
  const weighed = isMasked ? 0 : capped;
  const clipped = Math.min(Math.max(weighed, low), high);
  const isOutside = capped < low || capped > high;
  if (!ppo) {
    // CISPO uses the ratio only as a weight, so each token keeps a gradient, even if its ratio is clipped.
    const byLogprob = -clipped * advantage;
    return { loss: byLogprob * logprob, byRatio: 0, byLogprob, isClipped: isOutside };
  }
  // PPO is pessimistic: it takes the smaller of the clipped and the unclipped objective.
  const loss = -Math.min(weighed * advantage, clipped * advantage);
  const isHeld = weighed * advantage > clipped * advantage;
  const isFlat = isHeld || isMasked || capped < ratio;
  return {
    loss,
    byRatio: isFlat ? 0 : -advantage,
    byLogprob: 0,
    isClipped: maskProbRatio ? isOutside : isHeld,
  };
}
