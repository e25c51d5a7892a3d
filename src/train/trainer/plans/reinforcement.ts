// Makes the plan of a reinforcement learning job: trajectories with advantages within their groups, batches that keep
// groups together, and the policy loss.
import type { ConversationTokenizer } from "../../trajectories/conversation-tokenizer.ts";
import { reinforcementLearningAdamW } from "../adamw.ts";
import { type StepSize, type PlannedSequence, cutIntoBatches } from "../data/optimizer-batches.ts";
import { prepareTrainingData } from "../data/training-data.ts";
import {
  completionMetrics,
  rewardMetrics,
  startMetrics,
  stepEventMetrics,
  stepMetrics,
  versionMetrics,
} from "../job-metrics.ts";
import { differenceWarning, logprobDifference } from "../logprob-difference.ts";
import { policyMetrics } from "../metrics/policy-metrics.ts";
import { judgeShift, policyShift } from "../metrics/policy-shift.ts";
import { stalenessMetrics } from "../metrics/staleness.ts";
import type { PreparedLines } from "../prepared/token-file.ts";
import type { PinnedSettings } from "../settings.ts";
import type { TrainerProfile } from "../../../base/domain/trainer/profile.ts";
import type { TrainingConfig } from "../../../base/domain/training-config.ts";
import type { TrajectoryGroup } from "../../../base/domain/trajectory.ts";
import { type OptimizerStep, hasKlPenalty, policyLossOf } from "../trainer.ts";
import { type TrainingPlan, sampleOf, stepCountsOf } from "./plan.ts";

export interface PlanModel {
  readonly tokenizer: ConversationTokenizer;
  readonly sequenceLengthMax: number;
}

export interface PlanInput extends Pick<TrainingPlan, "read"> {
  readonly profile: Pick<TrainerProfile, "name" | "hasBasePass">;
  readonly settings: PinnedSettings;
  readonly seed: string;
  /** Number of the version from which the job starts. */
  readonly startStep: number;
}

/**
 * Makes the plan of a reinforcement learning job.
 *
 * @throws ServiceError as `prepareTrainingData` does
 */
export async function planReinforcement(
  config: TrainingConfig,
  groups: PreparedLines<TrajectoryGroup>,
  model: PlanModel,
  { profile, settings, seed, startStep, read }: PlanInput,
): Promise<TrainingPlan> {
  const { passCount } = config;
  const { servedPrecision, basePrecision } = settings;
  const roundedTo = servedPrecision ?? (basePrecision === "float32" ? undefined : basePrecision);
  const baseComparisonShare = profile.hasBasePass ? settings.baseComparisonShare : 0;
  const sequenceLengthMax = Math.min(model.sequenceLengthMax, config.packedSequenceLength ?? Infinity);
  const { sequences, warnings, origins, ...data } = await prepareTrainingData(groups, config, {
    ...model,
    sequenceLengthMax,
  });
  const size = stepSizeOf(config, settings);
  const batches = cutIntoBatches(sequences, {
    size,
    passCount,
    seed,
    tokensOf: (sequence) => read([sequence])[0],
  });
  const counts = { ...data.counts, steps: stepCountsOf(batches, passCount) };
  const loss = policyLossOf(config);
  const optimizerStep = (index: number): OptimizerStep => ({
    ...reinforcementLearningAdamW,
    weightDecay: config.weightDecay ?? settings.weightDecay,
    gradientNormMax: config.gradientNormMax ?? settings.gradientNormMax,
    learningRate: config.learningRate * batches[index].length ** config.learningRatePower,
  });
  const checked = sampleOf(batches);
  return {
    batches,
    read,
    // If serving uses another precision than training, importance ratios to the recorded probabilities would mostly
    // measure rounding.
    precalculatesLogprobs: config.precalculateLogprobs || roundedTo !== undefined,
    importanceTruncation: config.truncatedImportanceSampling,
    loss,
    comparedRows: baseSamples(batches, hasKlPenalty(loss) ? 1 : baseComparisonShare),
    optimizerStep,
    counts,
    warnings:
      baseComparisonShare < settings.baseComparisonShare
        ? [...warnings, noBaseComparison(profile)]
        : warnings,
    checked,
    heldOut: null,
    preferences: null,
    metrics: {
      start: startMetrics(batches.length, counts),
      step: (index, taken) => ({
        ...stepMetrics({
          ...taken,
          batch: taken.recorded,
          learningRate: optimizerStep(index).learningRate,
        }),
        ...policyMetrics({ ...taken, config }),
        ...stalenessMetrics(
          batches[index].map((sequence) => origins.get(sequence)?.policyVersion ?? null),
          startStep,
        ),
      }),
      event: (_index, step) => stepEventMetrics(step, counts),
      version: (steps, seconds) => ({
        ...versionMetrics(steps, counts, seconds),
        ...rewardMetrics(data.rewards),
        ...completionMetrics(data.answers),
      }),
      startWarning: (recorded, computed) => {
        const difference = logprobDifference(recorded, computed);
        const { row } = difference;
        const origin = row === null ? undefined : origins.get(checked[row]);
        return differenceWarning(difference, { origin, startStep, roundedTo });
      },
      result: (steps, compared, computed) =>
        judgeShift(steps, policyShift(compared, computed.logprobs), {
          learningRate: config.learningRate,
          startStep,
          limit: config.klUpdateMax ?? settings.klUpdateMax,
        }),
    },
  };
}

function noBaseComparison({ name }: PlanInput["profile"]): string {
  return (
    `The trainer ${name} cannot compute the base model next to the one it trains, so this job does not measure its ` +
    "distance to the base model: its steps have no kl_policy_ref."
  );
}

/**
 * Returns the size of an optimizer step. The job's own settings take precedence over the server's. If neither sets a
 * number of sequences, `packedSequenceLength` is the number of tokens per step.
 */
function stepSizeOf(
  { batchSize, stepCount, packedSequenceLength }: TrainingConfig,
  { batchTokens }: PinnedSettings,
): StepSize {
  if (stepCount !== null) return { steps: stepCount };
  if (batchSize !== null) return { sequences: batchSize };
  return batchTokens > 0 ? { tokens: packedSequenceLength ?? batchTokens } : { sequences: 1 };
}

type Batch = readonly Pick<PlannedSequence, "tokenCount">[];

/**
 * Selects the sequences that the base model computes too, to measure the policy's distance from it. Takes the first
 * sequences of each batch, as long as the selected sequences contain at most the fraction `share` of the tokens so far.
 * If none fits, takes the job's shortest sequence.
 *
 * @param share in [0, 1]; 1 selects all sequences, 0 none
 * @returns for each batch, the indices of its selected sequences
 */
export function baseSamples(batches: readonly Batch[], share: number): readonly (readonly number[])[] {
  const samples = shareOf(batches, share);
  if (share === 0 || samples.some((rows) => rows.length > 0)) return samples;
  const tokenCounts = batches.map((batch) => batch.map(({ tokenCount }) => tokenCount));
  const least = tokenCounts.flat().reduce((one, other) => Math.min(one, other), Infinity);
  const shortest = tokenCounts.findIndex((counts) => counts.includes(least));
  return samples.map((rows, index) => (index === shortest ? [tokenCounts[index].indexOf(least)] : rows));
}

function shareOf(batches: readonly Batch[], share: number): readonly (readonly number[])[] {
  let allowance = 0;
  return batches.map((batch) => {
    allowance += share * tokenCountOf(batch);
    const rows: number[] = [];
    for (const [row, { tokenCount }] of batch.entries()) {
      // The tolerance keeps rounding errors from excluding a sequence.
      if (tokenCount > allowance + 1e-6) break;
      allowance -= tokenCount;
      rows.push(row);
    }
    return rows;
  });
}

function tokenCountOf(batch: Batch): number {
  return batch.reduce((count, { tokenCount }) => count + tokenCount, 0);
}
