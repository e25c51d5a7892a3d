// The plan of a preference job: pairs, or with KTO judged answers, in the order of the job's seed, so many a step, and a loss
// that compares them with a reference.
import type { PreferenceExample } from "../../domain/preferences/preference.ts";
import type { JobCounts } from "../../domain/job.ts";
import type { ConversationTokenizer } from "../../trajectories/conversation-tokenizer.ts";
import type { TurnRenderer } from "../../trajectories/example-sequences.ts";
import { supervisedAdamW } from "../adamw.ts";
import { cutIntoExampleBatches } from "../data/example-batches.ts";
import { joinMismatch, mismatchesOf } from "../data/mismatches.ts";
import { type PlannedPreference, type PreferenceData, preparePreferences } from "../data/preference-data.ts";
import { startMetrics, stepMetrics, versionMetrics } from "../job-metrics.ts";
import { preferenceMetrics } from "../metrics/preference-metrics.ts";
import type { PreparedLines } from "../prepared/prepared-lines.ts";
import { preferenceLossOf } from "../trainer.ts";
import type { TrainingPlan } from "./plan.ts";
import { stepCountsOf } from "./step-counts.ts";
import type { PreferenceWork } from "./work.ts";

export async function planPreference(
  { config }: Pick<PreferenceWork, "config">,
  lines: PreparedLines<PreferenceExample>,
  model: { readonly tokenizer: TurnRenderer & ConversationTokenizer; readonly sequenceLengthMax: number },
  { seed, read }: { readonly seed: string } & Pick<TrainingPlan, "read">,
): Promise<TrainingPlan> {
  const data = await preparePreferences(lines, { ...model, loss: config.loss });
  const cut = cutIntoExampleBatches(data.preferences, config, { kind: "preference", seed });
  const batches = cut.map((preferences) => preferences.flatMap(({ sequences }) => sequences));
  const counts = { ...countsOf(data), steps: stepCountsOf(batches, config.epochCount) };
  const loss = preferenceLossOf(config);
  const { learningRate, weightDecay, gradientNormMax } = config;
  return {
    batches,
    read,
    precalculatesLogprobs: false,
    importanceTruncation: 0,
    loss,
    comparedRows: batches.map(() => []),
    optimizerStep: () => ({ ...supervisedAdamW, weightDecay, gradientNormMax, learningRate }),
    counts,
    warnings: data.warnings,
    probe: [],
    preferences: {
      reference: config.reference,
      // KTO alone compares with a point that is estimated.
      mismatches: cut.map((preferences) => (config.loss === "kto" ? mismatchesOf(preferences) : [])),
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
    },
  };
}

function countsOf({ preferences, preferenceCount, dropped }: PreferenceData): JobCounts {
  const sequences = preferences.flatMap((preference) => preference.sequences);
  return {
    groupsSubmitted: 0,
    groupsTrainable: 0,
    trajectories: preferenceCount,
    sequences: sequences.length,
    trainableTokens: sequences.reduce((sum, { trainedCount }) => sum + trainedCount, 0),
    skipped: dropped,
    skippedGroups: {},
  };
}

/** What a step was made of. */
function sizesOf(preferences: readonly PlannedPreference[]): Readonly<Record<string, number>> {
  const sequences = preferences.flatMap((preference) => preference.sequences);
  return {
    num_trajectories: preferences.length,
    num_tokens: sequences.reduce((sum, { tokenCount }) => sum + tokenCount, 0),
    num_trainable_tokens: sequences.reduce((sum, { trainedCount }) => sum + trainedCount, 0),
  };
}
