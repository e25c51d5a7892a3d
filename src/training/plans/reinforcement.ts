// The plan of a reinforcement learning job: trajectories judged within their groups, batches of like length, the policy
// loss.
import type { ConversationTokenizer } from "../../trajectories/conversation-tokenizer.ts";
import { reinforcementLearningAdamW } from "../adamw.ts";
import { cutIntoBatches } from "../data/optimizer-batches.ts";
import { prepareTrainingData } from "../data/training-data.ts";
import { startMetrics, stepEventMetrics, stepMetrics, versionMetrics } from "../job-metrics.ts";
import { differenceWarning, greatestDifference } from "../logprob-difference.ts";
import type { PinnedSettings } from "../settings.ts";
import type { TrainingPlan } from "./plan.ts";
import type { ReinforcementWork } from "./work.ts";

export interface PlanModel {
  readonly tokenizer: ConversationTokenizer;
  readonly sequenceLengthMax: number;
}

export interface PlanInput {
  readonly settings: PinnedSettings;
  readonly seed: string;
}

/** @throws ServiceError as `prepareTrainingData` does */
export async function planReinforcement(
  work: ReinforcementWork,
  model: PlanModel,
  { settings, seed }: PlanInput,
): Promise<TrainingPlan> {
  const { config } = work;
  const { learningRate } = config;
  const { weightDecay, gradientNormMax, batchTokens } = settings;
  const { sequences, counts, warnings, origins } = await prepareTrainingData(work.groups, config, model);
  const batches = cutIntoBatches(sequences, { batchTokens, seed });
  const optimizer = { ...reinforcementLearningAdamW, weightDecay, gradientNormMax, learningRate };
  return {
    batches,
    precalculatesLogprobs: config.precalculateLogprobs,
    loss: { kind: "policy", config },
    optimizerStep: () => optimizer,
    counts,
    warnings,
    told: {
      start: startMetrics(batches.length, counts),
      step: (index, taken) => stepMetrics({ batch: batches[index], learningRate, ...taken }),
      event: (_index, step) => stepEventMetrics(step, counts),
      version: (steps, seconds) => versionMetrics(steps, counts, seconds),
      warning: (index, { gradient }) =>
        index === 0 ? differenceWarning(greatestDifference(batches[0], gradient), origins) : null,
    },
  };
}
