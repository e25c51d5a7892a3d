// The steps of a job: one pass over its data, a gradient and an AdamW step for each batch, told as they are taken.
import type { JobReport } from "../../domain/job.ts";
import type { TrainingConfig } from "../../domain/training-config.ts";
import { reinforcementLearningAdamW } from "../adamw.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import type { TrainingData } from "../data/training-data.ts";
import { type Metrics, stepEventMetrics, stepMetrics } from "../job-metrics.ts";
import { differenceWarning, greatestDifference } from "../logprob-difference.ts";
import type { PinnedSettings } from "../settings.ts";
import { type Trainer, hasKlPenalty } from "../trainer.ts";
import { withCurrentLogprobs } from "./current-logprobs.ts";
import { withReferenceLogprobs } from "./reference-logprobs.ts";

export interface StepContext {
  readonly config: TrainingConfig;
  readonly settings: PinnedSettings;
  readonly data: TrainingData;
  readonly report: JobReport;
  readonly signal: AbortSignal;
}

/**
 * One pass over the data, a step per batch.
 *
 * @param recorded with the log-probabilities as recorded
 * @returns of each step
 */
export async function takeSteps(
  trainer: Trainer,
  recorded: readonly OptimizerBatch[],
  context: StepContext,
): Promise<readonly Metrics[]> {
  const { config, settings, data, report, signal } = context;
  const { learningRate } = config;
  const { weightDecay, gradientNormMax } = settings;
  const optimizer = { ...reinforcementLearningAdamW, weightDecay, gradientNormMax, learningRate };
  const batches = config.precalculateLogprobs
    ? await withCurrentLogprobs(trainer, recorded, { signal })
    : recorded;
  const steps: Metrics[] = [];
  for (const [index, sequences] of batches.entries()) {
    const loss = { kind: "policy", config } as const;
    const batch = hasKlPenalty(loss)
      ? await withReferenceLogprobs(trainer, sequences, { id: `reference ${index}`, signal })
      : sequences;
    const gradient = await trainer.forwardBackward(batch, loss, { id: `gradient ${index}`, signal });
    const step = await trainer.optimStep(optimizer, { id: `step ${index}`, signal });
    const metrics = stepMetrics({ batch: recorded[index], gradient, step, learningRate });
    steps.push(metrics);
    const warning =
      index === 0 ? differenceWarning(greatestDifference(recorded[0], gradient), data.origins) : null;
    if (warning !== null) await report.warned(warning);
    await report.stepped(index, stepEventMetrics(metrics, data.counts));
  }
  return steps;
}
