// One training job from its trajectories to a published version. The story alone: who computes, where files lie and
// how progress becomes durable are given.
import type { Clock } from "../domain/clock.ts";
import type { JobCounts, JobOutcome, JobReport } from "../domain/job.ts";
import type { TrainingConfig } from "../domain/training-config.ts";
import type { TrajectoryGroup } from "../domain/trajectory.ts";
import type { ConversationTokenizer } from "../trajectories/sequences.ts";
import { type Minibatch, cutIntoMinibatches } from "./minibatch.ts";
import { publishAdapter } from "./publish.ts";
import type { StepResult, Trainer, TrainerProvider } from "./trainer.ts";
import { prepareTrainingData } from "./training-data.ts";

export interface TrainingJobDependencies {
  readonly trainers: TrainerProvider;
  readonly tokenizer: ConversationTokenizer;
  readonly report: JobReport;
  readonly clock: Clock;
}

export interface TrainingJobInput {
  readonly jobId: string;
  readonly config: TrainingConfig;
  readonly groups: readonly TrajectoryGroup[];
  /** The version to go on from; null for the base model. */
  readonly fromAdapterFolder: string | null;
  /** Tokens of a minibatch, padding included. */
  readonly tokenBudget: number;
  /** The root of all data. */
  readonly dataFolder: string;
  /** Where the result goes, relative to the data folder; replaced when a lost attempt left it. */
  readonly adapterFolder: string;
}

/**
 * Runs the job to its end. The same version, trajectories and job id give the same adapter, byte for byte, so
 * a second attempt after a crash changes nothing that the first one told.
 *
 * A job in which nothing can train takes no step and publishes what it started from.
 */
export async function runTrainingJob(
  dependencies: TrainingJobDependencies,
  input: TrainingJobInput,
): Promise<JobOutcome> {
  const { trainers, tokenizer, report, clock } = dependencies;
  const startMs = clock.monotonicMs();
  const { sequenceLengthMax } = trainers;
  const data = prepareTrainingData(input.groups, input.config, { tokenizer, sequenceLengthMax });
  const minibatches = cutIntoMinibatches(data.sequences, {
    tokenBudget: input.tokenBudget,
    seed: input.jobId,
  });
  await report.started(minibatches.length, data.counts);
  const trainer = await trainers.open({ adapterFolder: input.fromAdapterFolder, seed: input.jobId });
  try {
    const steps = await takeSteps(trainer, minibatches, {
      config: input.config,
      counts: data.counts,
      report,
    });
    await publishAdapter(trainer, input);
    const seconds = (clock.monotonicMs() - startMs) / 1000;
    return {
      adapterFolder: input.adapterFolder,
      trainerState: null,
      counts: data.counts,
      metrics: versionMetrics(steps, data.counts, seconds),
    };
  } finally {
    await trainer.close();
  }
}

async function takeSteps(
  trainer: Trainer,
  given: readonly Minibatch[],
  options: { readonly config: TrainingConfig; readonly counts: JobCounts; readonly report: JobReport },
): Promise<readonly StepMetrics[]> {
  const { config, counts, report } = options;
  const minibatches = config.precalculateLogprobs ? await withCurrentLogprobs(trainer, given) : given;
  const steps: StepMetrics[] = [];
  for (const [index, minibatch] of minibatches.entries()) {
    const result = await trainer.trainStep(minibatch, { loss: config, learningRate: config.learningRate });
    const metrics = {
      loss: result.loss,
      entropy: result.entropy,
      grad_norm: result.gradientNorm,
      learning_rate: config.learningRate,
      max_logprob_difference: greatestDifference(given[index], result),
    };
    steps.push(metrics);
    await report.stepped(index, { ...metrics, ...countMetrics(counts) });
  }
  return steps;
}

type StepMetrics = Readonly<
  Record<"loss" | "entropy" | "grad_norm" | "learning_rate" | "max_logprob_difference", number>
>;

/** The same minibatches with what the model gives now in place of what was recorded. */
async function withCurrentLogprobs(
  trainer: Trainer,
  minibatches: readonly Minibatch[],
): Promise<readonly Minibatch[]> {
  const result: Minibatch[] = [];
  for (const minibatch of minibatches) {
    const logprobs = await trainer.logprobs(minibatch);
    result.push(
      minibatch.map((sequence, index) => {
        const oldLogprobs = new Float32Array(sequence.mask.length).fill(NaN);
        let position = 0;
        sequence.mask.forEach((trains, token) => {
          if (trains === 1) oldLogprobs[token] = logprobs[index][position++];
        });
        return { ...sequence, oldLogprobs };
      }),
    );
  }
  return result;
}

/**
 * The greatest |current - recorded| log-probability of the minibatch: at a job's first step, on data of the version
 * it starts from, the difference between serving and training.
 */
function greatestDifference(minibatch: Minibatch, { logprobs }: StepResult): number {
  let greatest = 0;
  minibatch.forEach(({ mask, oldLogprobs }, index) => {
    let position = 0;
    mask.forEach((trains, token) => {
      if (trains !== 1) return;
      const difference = Math.abs(logprobs[index][position++] - oldLogprobs[token]);
      if (difference > greatest) greatest = difference;
    });
  });
  return greatest;
}

/** Told with every step, since clients average each metric over the steps. */
function countMetrics(counts: JobCounts): Record<string, number> {
  return {
    num_groups_submitted: counts.groupsSubmitted,
    num_groups_trainable: counts.groupsTrainable,
    num_trajectories: counts.trajectories,
    num_trainable_tokens: counts.trainableTokens,
  };
}

/** Means over the steps, and what the job's data was, under the names that clients give them. */
function versionMetrics(
  steps: readonly StepMetrics[],
  counts: JobCounts,
  seconds: number,
): Record<string, number> {
  const mean = (name: keyof StepMetrics): number =>
    steps.reduce((sum, step) => sum + step[name], 0) / steps.length;
  const ofSteps: Record<string, number> =
    steps.length === 0
      ? {}
      : {
          "loss/train": mean("loss"),
          "loss/entropy": mean("entropy"),
          "loss/grad_norm": mean("grad_norm"),
          "loss/learning_rate": mean("learning_rate"),
          "loss/first_max_logprob_difference": steps[0].max_logprob_difference,
        };
  const skipped = Object.entries(counts.skipped).map(([reason, count]) => [
    `data/step_num_skipped_${reason}`,
    count,
  ]);
  return {
    ...ofSteps,
    num_sequences: steps.length,
    "data/step_num_gradient_steps": steps.length,
    "data/step_num_groups_submitted": counts.groupsSubmitted,
    "data/step_num_groups_trainable": counts.groupsTrainable,
    "data/step_num_trajectories": counts.trajectories,
    "data/step_trainer_tokens": counts.trainableTokens,
    "time/step_trainer_s": seconds,
    ...(Object.fromEntries(skipped) as Record<string, number>),
  };
}
