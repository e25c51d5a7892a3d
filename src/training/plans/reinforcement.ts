// The plan of a reinforcement learning job: trajectories judged within their groups, batches that keep groups together,
// the policy loss.
import type { ConversationTokenizer } from "../../trajectories/conversation-tokenizer.ts";
import { reinforcementLearningAdamW } from "../adamw.ts";
import { cutIntoBatches } from "../data/optimizer-batches.ts";
import { prepareTrainingData } from "../data/training-data.ts";
import { startMetrics, stepEventMetrics, stepMetrics, versionMetrics } from "../job-metrics.ts";
import { differenceWarning, greatestDifference } from "../logprob-difference.ts";
import { baseSamples } from "../metrics/base-samples.ts";
import { policyMetrics } from "../metrics/policy-metrics.ts";
import { stalenessMetrics } from "../metrics/staleness.ts";
import type { PinnedSettings } from "../settings.ts";
import { hasKlPenalty } from "../trainer.ts";
import type { TrainingPlan } from "./plan.ts";
import type { ReinforcementWork } from "./work.ts";

export interface PlanModel {
  readonly tokenizer: ConversationTokenizer;
  readonly sequenceLengthMax: number;
}

export interface PlanInput {
  readonly settings: PinnedSettings;
  readonly seed: string;
  /** The version that the job starts from. */
  readonly startStep: number;
}

/** @throws ServiceError as `prepareTrainingData` does */
export async function planReinforcement(
  work: ReinforcementWork,
  model: PlanModel,
  { settings, seed, startStep }: PlanInput,
): Promise<TrainingPlan> {
  const { config } = work;
  const { learningRate } = config;
  const { weightDecay, gradientNormMax, algorithm, baseComparisonShare } = settings;
  const sequenceLengthMax = Math.min(model.sequenceLengthMax, config.packedSequenceLength ?? Infinity);
  const { sequences, counts, warnings, origins } = await prepareTrainingData(work.groups, config, {
    ...model,
    sequenceLengthMax,
  });
  const batchTokens = config.packedSequenceLength ?? settings.batchTokens;
  const batches = cutIntoBatches(sequences, { batchTokens, seed, algorithm });
  const optimizer = { ...reinforcementLearningAdamW, weightDecay, gradientNormMax, learningRate };
  const loss = { kind: "policy", config } as const;
  return {
    batches,
    precalculatesLogprobs: config.precalculateLogprobs,
    importanceTruncation: config.truncatedImportanceSampling,
    loss,
    comparedRows: baseSamples(batches, hasKlPenalty(loss) ? 1 : baseComparisonShare),
    optimizerStep: () => optimizer,
    counts,
    warnings,
    told: {
      start: startMetrics(batches.length, counts),
      step: (index, taken) => ({
        ...stepMetrics({ ...taken, batch: batches[index], learningRate }),
        ...policyMetrics({ ...taken, recorded: batches[index], config }),
        ...stalenessMetrics(
          batches[index].map((sequence) => origins.get(sequence)?.policyVersion ?? null),
          startStep,
        ),
      }),
      event: (_index, step) => stepEventMetrics(step, counts),
      version: (steps, seconds) => versionMetrics(steps, counts, seconds),
      warning: (index, { gradient }) =>
        index === 0 ? differenceWarning(greatestDifference(batches[0], gradient), origins, startStep) : null,
    },
  };
}
