// Metrics of a preference job's step, under TRL's names. Rewards are β · (log π − log π_ref), summed over an answer's
// tokens, or averaged if the loss does so. Pure.
import { mean } from "../../trajectories/statistics.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import { logRatioOf, marginFactors, preferencesOf } from "../losses/preference.ts";
import type { ForwardResult, PreferenceLossConfig } from "../trainer.ts";

/** Finite values by name. */
export type PreferenceMetrics = Readonly<Record<string, number>>;

/** An answer's reward under the loss, and the sum (or mean, as in the loss) of its log-probabilities. */
interface Answer {
  reward: number;
  logprob: number;
}

/**
 * Returns the means over a step's chosen and rejected answers before the update, and their difference. For pairs also
 * the share with a larger reward for the chosen answer; for KTO also the reference point.
 *
 * @param batch with the reference values that the loss uses
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

/** Returns the difference of means over unpaired answers; empty if a step has only one kind. */
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
