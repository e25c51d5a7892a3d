// What a step of a preference job saw, under the names that TRL gives them: rewards are β · (log π − log π_ref), summed over an
// answer's tokens, or their mean where the loss takes that. Pure.
import { mean } from "../../trajectories/statistics.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import { logRatioOf, marginFactors, preferencesOf } from "../losses/preference.ts";
import type { ForwardResult, PreferenceLossConfig } from "../trainer.ts";

/** By name; all finite. */
export type PreferenceMetrics = Readonly<Record<string, number>>;

/** An answer: what the loss makes of it, and the sum of its log-probabilities, or their mean as the loss takes them. */
interface Answer {
  reward: number;
  logprob: number;
}

/**
 * The means over the answers of a step, before it, and by how much those of chosen ones are greater; of pairs also how often the
 * chosen one has the greater reward, and with KTO the reference point.
 *
 * @param batch with what the loss compares with
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
      ? { ...apart(chosen, rejected), kl: batch[0]?.preference?.referencePoint ?? 0 }
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

/** Of answers that are no pairs; nothing where a step has one kind alone. */
function apart(chosen: readonly Answer[], rejected: readonly Answer[]): PreferenceMetrics {
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
