// The plan of a reinforcement learning job: trajectories judged within their groups, batches that keep groups together,
// the policy loss.
import type { ConversationTokenizer } from "../../trajectories/conversation-tokenizer.ts";
import { reinforcementLearningAdamW } from "../adamw.ts";
import { cutIntoBatches, type StepSize } from "../data/optimizer-batches.ts";
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
import { baseSamples } from "../metrics/base-samples.ts";
import { policyMetrics } from "../metrics/policy-metrics.ts";
import { judgedShift, policyShift } from "../metrics/policy-shift.ts";
import { stalenessMetrics } from "../metrics/staleness.ts";
import type { PreparedLines } from "../prepared/prepared-lines.ts";
import type { PinnedSettings } from "../settings.ts";
import type { TrainerProfile } from "../../../base/domain/trainer/profile.ts";
import type { TrainingConfig } from "../../../base/domain/training-config.ts";
import type { TrajectoryGroup } from "../../../base/domain/trajectory.ts";
import { hasKlPenalty, policyLossOf, type OptimizerStep } from "../trainer.ts";
import { sampleOf } from "./checked-sequences.ts";
import type { TrainingPlan } from "./plan.ts";
import { stepCountsOf } from "./step-counts.ts";

export interface PlanModel {
  readonly tokenizer: ConversationTokenizer;
  readonly sequenceLengthMax: number;
}

export interface PlanInput extends Pick<TrainingPlan, "read"> {
  readonly profile: Pick<TrainerProfile, "name" | "hasBasePass">;
  readonly settings: PinnedSettings;
  readonly seed: string;
  /** The version that the job starts from. */
  readonly startStep: number;
}

/** @throws ServiceError as `prepareTrainingData` does */
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
    // What sampled computes otherwise than what trains: ratios of the two would be of their rounding.
    precalculatesLogprobs: config.precalculateLogprobs || roundedTo !== undefined,
    importanceTruncation: config.truncatedImportanceSampling,
    loss,
    comparedRows: baseSamples(batches, hasKlPenalty(loss) ? 1 : baseComparisonShare),
    optimizerStep,
    counts,
    warnings:
      baseComparisonShare < settings.baseComparisonShare ? [...warnings, uncompared(profile)] : warnings,
    checked,
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
        judgedShift(steps, policyShift(compared, computed.logprobs), {
          learningRate: config.learningRate,
          startStep,
          limit: config.klUpdateMax ?? settings.klUpdateMax,
        }),
    },
  };
}

function uncompared({ name }: PlanInput["profile"]): string {
  return (
    `The trainer ${name} does not compute the base model beside one that it trains, so this job does not tell how far it ` +
    "went from there: its steps have no kl_policy_ref."
  );
}

/** A job's own word comes first. A server that counts tokens takes the job's packed rows for its steps. */
function stepSizeOf(
  { batchSize, stepCount, packedSequenceLength }: TrainingConfig,
  { batchTokens }: PinnedSettings,
): StepSize {
  if (stepCount !== null) return { steps: stepCount };
  if (batchSize !== null) return { sequences: batchSize };
  return batchTokens > 0 ? { tokens: packedSequenceLength ?? batchTokens } : { sequences: 1 };
}
