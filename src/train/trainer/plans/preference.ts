// Makes the plan of a preference job. Shuffles its pairs (for KTO: labelled answers) by the seed, and takes a fixed
// number per step. The loss compares the policy with a reference model.
import type { PreferenceConfig } from "../../../base/domain/preferences/preference-config.ts";
import type { PreferenceExample } from "../../../base/domain/preferences/preference.ts";
import type { JobCounts } from "../../../base/domain/job.ts";
import type { ConversationTokenizer } from "../../trajectories/conversation-tokenizer.ts";
import type { TurnRenderer } from "../../trajectories/example-sequences.ts";
import { supervisedAdamW } from "../adamw.ts";
import { cutIntoExampleBatches } from "../data/example-batches.ts";
import { joinMismatch, mismatchesOf } from "../data/mismatches.ts";
import { type PlannedPreference, type PreferenceData, preparePreferences } from "../data/preference-data.ts";
import { startMetrics, stepMetrics, versionMetrics } from "../job-metrics.ts";
import { preferenceMetrics } from "../metrics/preference-metrics.ts";
import type { PreparedLines } from "../prepared/token-file.ts";
import { preferenceLossOf } from "../trainer.ts";
import { heldOutOf } from "./held-out.ts";
import { type TrainingPlan, shortestOf, stepCountsOf } from "./plan.ts";

export async function planPreference(
  config: PreferenceConfig,
  lines: PreparedLines<PreferenceExample>,
  model: { readonly tokenizer: TurnRenderer & ConversationTokenizer; readonly sequenceLengthMax: number },
  { seed, read }: { readonly seed: string } & Pick<TrainingPlan, "read">,
): Promise<TrainingPlan> {
  const data = await preparePreferences(lines, { ...model, loss: config.loss });
  const { heldOutCount = 0 } = config;
  const trainedLineCount = data.lineCount - heldOutCount;
  const isTrained = ({ sequences: [{ group }] }: PlannedPreference): boolean => group < trainedLineCount;
  const preferences = data.preferences.filter(isTrained);
  const cut = cutIntoExampleBatches(preferences, config, { kind: "preference", seed });
  const batches = cut.map((step) => step.flatMap(({ sequences }) => sequences));
  const counts = {
    ...countsOf({ ...data, preferences }, heldOutCount),
    steps: stepCountsOf(batches, config.epochCount),
  };
  const loss = preferenceLossOf(config);
  const { learningRate, weightDecay, gradientNormMax, batchSize } = config;
  return {
    batches,
    read,
    precalculatesLogprobs: false,
    importanceTruncation: 0,
    loss,
    comparedRows: batches.map(() => []),
    optimizerStep: () => ({ ...supervisedAdamW, weightDecay, gradientNormMax, learningRate }),
    counts,
    warnings: [...data.warnings, ...balanceWarnings(preferences, config)],
    checked: shortestOf(batches),
    heldOut: heldOutOf(
      data.preferences.filter((preference) => !isTrained(preference)),
      {
        batchSize,
        epochs: batches.map((_, index) => Math.floor((index * config.epochCount) / batches.length)),
      },
    ),
    preferences: {
      reference: config.reference,
      // Only KTO needs mismatches, to estimate its reference point.
      mismatches: cut.map((step) => (config.loss === "kto" ? mismatchesOf(step) : [])),
      readMismatches: (mismatches) =>
        mismatches.map(({ prompt, answer }, group) => {
          const [asked, answered] = read([prompt, answer]);
          const joined = joinMismatch(asked, answered, model.sequenceLengthMax);
          return { ...joined, advantage: 1, weight: 1, group };
        }),
    },
    metrics: {
      start: startMetrics(batches.length, counts),
      step: (index, { recorded, batch, gradient, step, seconds }) => {
        const {
          max_logprob_difference: _greatest,
          mean_logprob_difference: _average,
          num_datums: _sequences,
          ...metrics
        } = stepMetrics({ batch: recorded, gradient, step, learningRate, seconds });
        return {
          ...metrics,
          ...preferenceMetrics(batch, gradient, loss.config),
          ...sizesOf(cut[index]),
        };
      },
      event: (_index, step) => step,
      version: (steps, seconds) => versionMetrics(steps, counts, seconds),
      startWarning: () => null,
      result: null,
    },
  };
}

/**
 * Ratio between the total weights of desirable and undesirable answers above which KTO jobs get a warning. Beyond it,
 * the kind with the larger weight dominates training.
 */
const imbalanceMax = 2;

/**
 * Warns if the total weights of desirable and undesirable answers differ much. KTO's paper (arXiv:2402.01306, section
 * 4.3) advises that the weight of desirable answers is 1 to 4/3 times that of undesirable ones.
 */
function balanceWarnings(
  preferences: readonly PlannedPreference[],
  { loss, desirableWeight, undesirableWeight }: PreferenceConfig,
): readonly string[] {
  if (loss !== "kto" || preferences.length === 0) return [];
  const wantedCount = preferences.filter(({ sequences }) => sequences[0]?.preference?.isChosen).length;
  const otherCount = preferences.length - wantedCount;
  const numbers = `${wantedCount} answers are desirable and ${otherCount} are not`;
  if (wantedCount === 0 || otherCount === 0)
    return [`${numbers}: the loss kto learns the difference, so send some of both.`];
  const ratio = (desirableWeight * wantedCount) / (undesirableWeight * otherCount);
  if (ratio <= imbalanceMax && ratio >= 1 / imbalanceMax) return [];
  const [option, weight] =
    ratio > 1
      ? ["undesirable_weight", (desirableWeight * wantedCount) / otherCount]
      : ["desirable_weight", (undesirableWeight * otherCount) / wantedCount];
  return [
    `${numbers}; the former have ${ratio.toPrecision(2)} times the weight of the others. With ${option} ${weight.toPrecision(2)} both have the same.`,
  ];
}

function countsOf(
  { preferences, preferenceCount, dropped }: PreferenceData,
  heldOutCount: number,
): JobCounts {
  const sequences = preferences.flatMap((preference) => preference.sequences);
  return {
    groupsSubmitted: 0,
    groupsTrainable: 0,
    trajectories: preferenceCount - heldOutCount,
    sequences: sequences.length,
    trainableTokens: sequences.reduce((sum, { trainedCount }) => sum + trainedCount, 0),
    skipped: dropped,
    skippedGroups: {},
  };
}

/** Returns the metrics that describe the size of a step. */
function sizesOf(preferences: readonly PlannedPreference[]): Readonly<Record<string, number>> {
  const sequences = preferences.flatMap((preference) => preference.sequences);
  return {
    num_trajectories: preferences.length,
    num_tokens: sequences.reduce((sum, { tokenCount }) => sum + tokenCount, 0),
    num_trainable_tokens: sequences.reduce((sum, { trainedCount }) => sum + trainedCount, 0),
  };
}
