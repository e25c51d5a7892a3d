// Computes the metrics of a preference job's step under TRL's names. The reward of an answer is β · (log π − log
// π_ref), summed over the answer's tokens, or averaged if the loss is length-normalized. Pure.
import { mean } from "../../trajectories/statistics.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import { logRatioOf, marginFactors, preferencesOf } from "../losses/preference.ts";
import type { ForwardResult, PreferenceLossConfig } from "../trainer.ts";

/** Metric values, all finite, by name. */
export type PreferenceMetrics = Readonly<Record<string, number>>;

/** An answer's reward, and the sum of its log-probabilities (their mean if the loss is length-normalized). */
interface Answer {
  reward: number;
  logprob: number;
}

/**
 * Returns the mean rewards and log-probabilities of a step's chosen and rejected answers before the update, and the
 * difference of the mean rewards. For pairs, adds the share of pairs whose chosen answer has the larger reward. For
 * KTO, adds the reference point.
 *
 * @param batch sequences with the reference values that the loss uses
 */
export function preferenceMetrics(
  batch: OptimizerBatch,
  { logprobs }: ForwardResult,
  config: PreferenceLossConfig,
): PreferenceMetrics {
  const [chosen, rejected] = [true, false].map((isChosen) =>
    answersOf(batch, logprobs, { config, isChosen }),
  );
  return {
    ...sideMetrics("chosen", chosen),
    ...sideMetrics("rejected", rejected),
    ...(config.loss === "kto"
      ? { ...unpairedDifference(chosen, rejected), kl: batch[0]?.preference?.referencePoint ?? 0 }
      : marginMetrics(batch, logprobs, config)),
  };
}

function answersOf(
  batch: OptimizerBatch,
  logprobs: ForwardResult["logprobs"],
  { config, isChosen }: { readonly config: PreferenceLossConfig; readonly isChosen: boolean },
): readonly Answer[] {
  const factors = marginFactors(batch, config);
  const answers = new Map<number, Answer>();
  for (const [row, sequence] of batch.entries()) {
    const { preference } = sequence;
    if (preference?.isChosen !== isChosen) continue;
    const answer = answers.get(preference.index) ?? { reward: 0, logprob: 0 };
    const factor = Math.abs(factors[row]);
    answer.reward += config.beta * factor * logRatioOf(sequence, logprobs[row], config);
    answer.logprob += factor * logprobs[row].reduce((sum, value) => sum + value, 0);
    answers.set(preference.index, answer);
  }
  return [...answers.values()];
}

function sideMetrics(side: "chosen" | "rejected", answers: readonly Answer[]): PreferenceMetrics {
  if (answers.length === 0) return {};
  return {
    [`rewards/${side}`]: mean(answers.map(({ reward }) => reward)),
    [`logps/${side}`]: mean(answers.map(({ logprob }) => logprob)),
  };
}

/**
 * Returns the mean reward of chosen answers minus that of rejected answers, for answers that are not paired. Empty if
 * the step has only one of the two kinds.
 */
function unpairedDifference(chosen: readonly Answer[], rejected: readonly Answer[]): PreferenceMetrics {
  if (chosen.length === 0 || rejected.length === 0) return {};
  const [better, worse] = [chosen, rejected].map((answers) => mean(answers.map(({ reward }) => reward)));
  return { "rewards/margins": better - worse };
}

function marginMetrics(
  batch: OptimizerBatch,
  logprobs: ForwardResult["logprobs"],
  config: PreferenceLossConfig,
): PreferenceMetrics {
  const inputs = batch.map((sequence, row) => ({ sequence, logprobs: logprobs[row] }));
  const margins = [...preferencesOf(inputs, config).values()].map(({ margin }) => margin);
  return {
    "rewards/accuracies": mean(margins.map((margin) => (margin > 0 ? 1 : 0))),
    "rewards/margins": config.beta * mean(margins),
  };
}
