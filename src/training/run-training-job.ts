// One training job from its trajectories to a published version. The story alone: who computes, where files lie and
// how progress becomes durable are given.
import type { Clock } from "../domain/clock.ts";
import type { JobOutcome, JobReport } from "../domain/job.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { TrainingConfig } from "../domain/training-config.ts";
import type { TrajectoryGroup } from "../domain/trajectory.ts";
import type { ConversationTokenizer } from "../trajectories/conversation-tokenizer.ts";
import { startMetrics, versionMetrics } from "./job-metrics.ts";
import { type OptimizerBatch, cutIntoBatches } from "./data/optimizer-batches.ts";
import { publishAdapter } from "./publish.ts";
import type { PinnedSettings } from "./settings.ts";
import type { Trainer, TrainerCall, TrainerProvider, TrainerStart } from "./trainer.ts";
import { takeSteps } from "./steps/take-steps.ts";
import { prepareTrainingData } from "./data/training-data.ts";

export interface TrainingJobDependencies {
  readonly trainers: TrainerProvider;
  readonly tokenizer: ConversationTokenizer;
  readonly report: JobReport;
  readonly clock: Clock;
}

export interface TrainingJobInput {
  /** Tells this job's unfinished files from others'. */
  readonly jobId: string;
  /** Of the job's content: decides the first adapter of a model and the order of the steps. */
  readonly seed: string;
  readonly config: TrainingConfig;
  readonly settings: PinnedSettings;
  readonly groups: AsyncIterable<TrajectoryGroup>;
  /** The version to go on from; null for the base model. */
  readonly from: TrainerStart["from"];
  /** The root of all data. */
  readonly dataFolder: string;
  /** Where the result goes, relative to the data folder; replaced when a lost attempt left it. */
  readonly adapterFolder: string;
  /** Aborted, the job rejects with `cancelled` and publishes nothing. */
  readonly signal: AbortSignal;
}

/**
 * Runs the job to its end. The same version, trajectories, settings and seed give the same adapter, byte for byte, so
 * a second attempt after a crash changes nothing that the first one reported.
 *
 * A job in which nothing can train takes no step and publishes what it started from.
 */
export async function runTrainingJob(
  dependencies: TrainingJobDependencies,
  input: TrainingJobInput,
): Promise<JobOutcome> {
  const { trainers, tokenizer, report, clock } = dependencies;
  const { config, settings, seed, adapterFolder } = input;
  const startMs = clock.monotonicMs();
  const sequenceLengthMax = Math.min(trainers.sequenceLengthMax, settings.sequenceLengthMax);
  const data = await prepareTrainingData(input.groups, config, { tokenizer, sequenceLengthMax });
  const { counts } = data;
  const batches = cutIntoBatches(data.sequences, { batchTokens: settings.batchTokens, seed });
  await report.started(batches.length, counts, startMetrics(batches.length, counts));
  for (const warning of data.warnings) await report.warned(warning);
  const trainer = await openTrainer(trainers, input);
  try {
    await warnOfFreshOptimizer(input.from, report);
    const steps = await takeSteps(trainer, batches, { ...input, data, report });
    if (steps.length > 0) await requireServable(trainer, batches, input);
    const { trainerState } = await publishAdapter(trainer, input, callOf("save", input));
    const seconds = (clock.monotonicMs() - startMs) / 1000;
    return { adapterFolder, trainerState, counts, metrics: versionMetrics(steps, counts, seconds) };
  } finally {
    await trainer.close();
  }
}

/** What cannot be read of a version is this server's own: whoever sent the job is told no more than that. */
async function openTrainer(
  trainers: TrainerProvider,
  { from, seed }: Pick<TrainingJobInput, "from" | "seed">,
): Promise<Trainer> {
  try {
    return await trainers.open({ from, seed });
  } catch (cause) {
    if (from === null || !(cause instanceof ServiceError)) throw cause;
    throw new ServiceError({
      code: "internal",
      message: "The version that training starts from cannot be read; the server's log says why.",
      cause,
    });
  }
}

async function warnOfFreshOptimizer(from: TrainerStart["from"], report: JobReport): Promise<void> {
  if (from === null || from.trainerState !== null) return;
  await report.warned(
    "Training goes on from this version's weights with a fresh optimizer: the state of its optimizer is not kept any more.",
  );
}

/** A forward pass with the new weights: numbers that are finite alone may still overflow where they meet. */
async function requireServable(
  trainer: Trainer,
  batches: readonly OptimizerBatch[],
  input: TrainingJobInput,
): Promise<void> {
  const [first, ...others] = batches.flat();
  const shortest = others.reduce((one, other) => (other.mask.length < one.mask.length ? other : one), first);
  const { logprobs } = await trainer.forward([shortest], callOf("check", input));
  if (logprobs[0].every(Number.isFinite)) return;
  throw new ServiceError({
    code: "unsupported",
    message:
      "After its last step the model does not give finite log-probabilities any more, so no version is made of it; " +
      `lower the learning rate, which is ${input.config.learningRate}.`,
  });
}

function callOf(id: string, { signal }: Pick<TrainingJobInput, "signal">): TrainerCall {
  return { id, signal };
}
