// The losses as plain arithmetic on lists of numbers, written from the formulas and not from embedded/loss.ts, which they
// check. Slopes are finite differences: nothing is derived by hand. Slow, and only as exact as differences are.
import { type Loss, type PolicyLossConfig, type TrainingSequence, hasKlPenalty } from "../trainer.ts";
import { trainedIndices } from "../../trajectories/sequences.ts";

/** What a loss sees of one sequence: its trained tokens in order. */
export interface LossInput {
  readonly sequence: Pick<
    TrainingSequence,
    "mask" | "oldLogprobs" | "advantage" | "weight" | "tokenWeights" | "referenceLogprobs"
  >;
  readonly logprobs: ArrayLike<number>;
}

/** The loss of a whole batch. */
export function naiveLoss(batch: readonly LossInput[], loss: Loss): number {
  const [tokenCount, klMean] = [tokenCountOf(batch), klMeanOf(batch, loss)];
  return batch.reduce(
    (sum, { sequence, logprobs }) =>
      sum + lossOf(sequence, { live: logprobs, frozen: logprobs, klMean }, loss) / (tokenCount + 1e-6),
    0,
  );
}

/** The slope of {@link naiveLoss} by each log-probability of one of its sequences. */
export function naiveSlopes(
  { sequence, logprobs }: LossInput,
  batch: readonly LossInput[],
  loss: Loss,
): number[] {
  const step = 1e-6;
  const [tokenCount, klMean] = [tokenCountOf(batch), klMeanOf(batch, loss)];
  return Array.from(logprobs, (_, index) => {
    const moved = (by: number): number => {
      const live = Array.from(logprobs, (value, at) => (at === index ? value + by : value));
      return lossOf(sequence, { live, frozen: logprobs, klMean }, loss);
    };
    return (moved(step) - moved(-step)) / (2 * step) / (tokenCount + 1e-6);
  });
}

function tokenCountOf(batch: readonly LossInput[]): number {
  return batch.reduce((count, { logprobs }) => count + logprobs.length, 0);
}

/** The mean of current less reference log-probabilities over the trained tokens of a batch; 0 without a KL penalty. */
function klMeanOf(batch: readonly LossInput[], loss: Loss): number {
  if (!hasKlPenalty(loss)) return 0;
  const differences = batch.flatMap(({ sequence, logprobs }) => klOf(sequence, logprobs, loss));
  return differences.reduce((sum, each) => sum + each, 0) / differences.length;
}

function klOf(sequence: LossInput["sequence"], logprobs: ArrayLike<number>, loss: Loss): readonly number[] {
  const ofSample = loss.kind === "policy" && loss.config.klPenaltySource === "sample";
  return trainedIndices(sequence).map((at, index) => {
    const old = sequence.oldLogprobs[at];
    const compared = ofSample && !Number.isNaN(old) ? old : logprobs[index];
    return compared - (sequence.referenceLogprobs?.[at] ?? NaN);
  });
}

/** Log-probabilities as gradients see them: `frozen` is the same numbers where no gradient flows. */
interface Logprobs {
  readonly live: ArrayLike<number>;
  readonly frozen: ArrayLike<number>;
  readonly klMean: number;
}

function lossOf(sequence: LossInput["sequence"], { live, frozen, klMean }: Logprobs, loss: Loss): number {
  const { advantage } = sequence;
  const weights = trainedIndices(sequence).map(
    (index) => sequence.weight * (sequence.tokenWeights?.[index] ?? 1),
  );
  if (loss.kind === "cross-entropy")
    return Array.from(live).reduce((sum, each, at) => sum - each * weights[at], 0);
  const { config } = loss;
  const old = trainedIndices(sequence).map((index) => sequence.oldLogprobs[index]);
  const differences = (logprobs: ArrayLike<number>): number[] =>
    Array.from(logprobs, (value, at) => value - (Number.isNaN(old[at]) ? frozen[at] : old[at]));
  const frozenDifferences = differences(frozen);
  const ratios = adjustedRatios(differences(live), config);
  const frozenRatios = adjustedRatios(frozenDifferences, config);
  const kl = klOf(sequence, frozen, loss);
  const clip = (ratio: number): number =>
    Math.min(Math.max(ratio, 1 - config.epsilon), 1 + config.epsilonHigh);
  return ratios.reduce((sum, ratio, at) => {
    const penalty = hasKlPenalty(loss) ? config.klPenaltyCoefficient * (klMean - kl[at]) : 0;
    const adjusted = advantage - config.k2Tau * frozenDifferences[at] + penalty;
    const token = config.ppo
      ? -Math.min(ratio * adjusted, clip(ratio) * adjusted)
      : -clip(frozenRatios[at]) * adjusted * live[at];
    return sum + token * weights[at];
  }, 0);
}

function adjustedRatios(differences: readonly number[], config: PolicyLossConfig): number[] {
  const mean = differences.reduce((sum, each) => sum + each, 0) / (differences.length + 1e-8);
  const cap = config.maxNegativeAdvantageImportanceSamplingWeight;
  const power = (exponent: number): number => Math.exp(Math.min(Math.max(exponent, -20), 20));
  return differences.map((difference) => {
    let ratio = {
      token: power(difference),
      sequence: power(mean),
      average: (power(difference) + power(mean)) / 2,
      geometric_average: power((difference + mean) / 2),
    }[config.importanceSamplingLevel];
    if (cap > 0) ratio = Math.min(ratio, cap);
    const isInside = ratio > 1 - config.epsilon && ratio < 1 + config.epsilonHigh;
    return config.maskProbRatio && !isInside ? 0 : ratio;
  });
}
