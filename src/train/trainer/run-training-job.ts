// Runs one training job, from its training data to a published version. The caller chooses the trainer, the file
// locations, and how progress is stored durably.
import { join } from "node:path";
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import { unreachable } from "../../base/domain/assert.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { JobOutcome, JobReport } from "../../base/domain/job.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import {
  requireTrainerFor,
  type TrainerProfile,
  type TrainerTask,
  ownState,
  stateOf,
  storedState,
} from "../../base/domain/trainer/profile.ts";
import { adapterSeal } from "../../inference/architectures/hashes/adapter-hash.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { ConversationTokenizer } from "../trajectories/conversation-tokenizer.ts";
import type { TurnRenderer } from "../trajectories/example-sequences.ts";
import { type JobResult, type TrainingPlan, unjudged, movementWarning } from "./plans/plan.ts";
import { planPreference } from "./plans/preference.ts";
import { planReinforcement } from "./plans/reinforcement.ts";
import { planSupervised } from "./plans/supervised.ts";
import { type OptimizerBatch, readBatch } from "./data/optimizer-batches.ts";
import { type WorkLines, PreparedLines, preparedFileName, TokenFile } from "./prepared/token-file.ts";
import { publishVersion } from "./folders/publish.ts";
import { type PinnedSettings, trainerAlgorithm } from "./settings.ts";
import type { DifferenceMemory } from "./steps/base-precision.ts";
import { JobSnapshots, noSteps, type PastSteps } from "./steps/job-snapshots.ts";
import { requiredArrays, takeSteps, repeatReports, type TakenSteps } from "./steps/take-steps.ts";
import type { OptimizerStep, Trainer, TrainerCall, TrainerProvider, TrainerStart } from "./trainer.ts";
import type { StartVersion, TrainingRun } from "./training-run.ts";

export interface TrainingJobDependencies {
  readonly trainers: TrainerProvider;
  readonly artifacts: ArtifactStore;
  readonly tokenizer: ConversationTokenizer & TurnRenderer;
  readonly settings: PinnedSettings;
  /** See `StepContext`. */
  readonly differences?: DifferenceMemory;
  /** Hex SHA-256 of the base model's weights. */
  readonly base: string;
  /** Share of the job's time that snapshots may take; see {@link JobSnapshots}. */
  readonly snapshotShare: number;
  /** The job's training data; each kind of job has its own format. */
  readonly lines: WorkLines<unknown>;
  readonly report: JobReport;
  readonly clock: Clock;
  /** If this signal aborts, the job rejects with `cancelled` and publishes nothing. */
  readonly signal: AbortSignal;
}

/**
 * Runs the job to its end, starting after the last step that an earlier attempt saved. A job without trainable data
 * publishes a copy of its start version. The same start version, data, settings and seed give the same adapter to the
 * byte, so a later attempt changes nothing that was reported.
 */
export async function runTrainingJob(
  dependencies: TrainingJobDependencies,
  run: TrainingRun,
): Promise<JobOutcome> {
  const { clock } = dependencies;
  const startMs = clock.monotonicMs();
  const secondsSpent = (): number => (clock.monotonicMs() - startMs) / 1000;
  const file = new TokenFile(join(run.workFolder, preparedFileName), preparedKey(dependencies, run));
  try {
    const plan = await planJob(dependencies, run, file);
    return await executePlan(plan, dependencies, { ...run, secondsSpent });
  } finally {
    file.close();
  }
}

/**
 * Returns everything on which a job's prepared lines depend, except the base model's files, which are the same in all
 * attempts at the job.
 */
function preparedKey(
  { trainers, settings }: TrainingJobDependencies,
  { task: { kind, config }, seed }: TrainingRun,
): JsonObject {
  const sequenceLengthMax = sequenceLengthMaxOf(trainers, settings);
  // Includes the configuration, because it helps decide which lines are trained on.
  return { algorithm: trainerAlgorithm, kind, seed, config: JSON.stringify(config), sequenceLengthMax };
}

function sequenceLengthMaxOf(trainers: TrainerProvider, settings: PinnedSettings): number {
  return Math.min(trainers.sequenceLengthMax, settings.sequenceLengthMax);
}

function planJob(
  { trainers, tokenizer, settings, lines, clock, report }: TrainingJobDependencies,
  { task, seed, startStep, from }: TrainingRun,
  file: TokenFile,
): Promise<TrainingPlan> {
  const { profile } = trainers;
  // Checks the trainer again, because the operator may have configured another trainer since the job was accepted.
  const { basePrecision } = settings;
  // Safe cast: `kind` and `config` come from the same task.
  const asked = { kind: task.kind, config: { ...task.config, basePrecision } } as TrainerTask;
  requireTrainerFor(profile, asked, from ?? { adapterFolder: null, trainerState: null });
  const model = { tokenizer, sequenceLengthMax: sequenceLengthMaxOf(trainers, settings) };
  // Safe cast: the job's lines have the format of its kind.
  const prepared = <Item>(): PreparedLines<Item> =>
    new PreparedLines(file, lines as WorkLines<Item>, {
      clock,
      report: (count, total, secondsLeft) => report({ kind: "prepared", count, total, secondsLeft }),
    });
  const read: TrainingPlan["read"] = (batch) => readBatch(file, batch);
  switch (task.kind) {
    case "rl":
      return planReinforcement(task.config, prepared(), model, { profile, settings, seed, startStep, read });
    case "sft":
      return planSupervised(task.config, prepared(), model, { seed, read });
    case "preference":
      return planPreference(task.config, prepared(), model, { seed, read });
    default:
      return unreachable(task);
  }
}

/** Takes the steps of the plan, and publishes the resulting version. */
async function executePlan(
  plan: TrainingPlan,
  dependencies: TrainingJobDependencies,
  run: TrainingRun & { readonly secondsSpent: () => number },
): Promise<JobOutcome> {
  const { trainers, report, clock, signal, settings, base } = dependencies;
  const { adapterFolder, secondsSpent } = run;
  const { batches, counts } = plan;
  const saving = await trainers.requireMemory?.({ [Symbol.iterator]: () => batchesOf(plan) }, plan.loss);
  await report({ kind: "started", stepCount: batches.length, counts, metrics: plan.metrics.start });
  const start = await startOf(dependencies, run);
  const stepWarnings = batches.length === 0 ? [] : fixedStepWarnings(trainers.profile, plan.optimizerStep(0));
  const savingWarnings = typeof saving === "string" ? [saving] : [];
  for (const warning of [...plan.warnings, ...savingWarnings, ...start.warnings, ...stepWarnings])
    await report({ kind: "warned", warning });
  const snapshots = snapshotsOf(dependencies, run, { start: start.start, plan });
  const opened = () => openTrainer(dependencies, start.start, run);
  const { trainer, past } = await resumeTrainer(trainers, snapshots, {
    plan,
    opened,
    call: { id: run.runKey, signal },
  });
  try {
    const { basePrecision } = settings;
    const { differences } = dependencies;
    // A new adapter does not change the base model's results.
    const startsAtBase = start.start.kind === "new";
    const context = {
      report,
      clock,
      snapshots,
      startsAtBase,
      secondsSpent,
      basePrecision,
      differences,
      signal,
    };
    await repeatReports(past, plan, { report, reportedCount: run.reportedStepCount });
    const steps = await takeSteps(trainer, plan, past, context);
    const warning = movementWarning(steps.metrics);
    if (warning !== null) await report({ kind: "warned", warning });
    await report({ kind: "entered", phase: "publishing" });
    const result = batches.length === 0 ? unjudged : await checkResult(trainer, plan, steps, signal);
    for (const each of result.warnings) await report({ kind: "warned", warning: each });
    if (result.refusal !== null) throw new ServiceError({ code: "unsupported", message: result.refusal });
    const target = { artifacts: dependencies.artifacts, adapterFolder };
    const { adapterHash, state } = await publishVersion(trainer, target, { signal });
    const trainerState = storedState(trainers.profile.name, state);
    const metrics = {
      ...plan.metrics.version(steps.metrics, past.seconds + secondsSpent()),
      ...result.metrics,
    };
    return { adapterFolder, trainerState, base, adapterHash, counts, metrics };
  } finally {
    await trainer.close();
  }
}

/** Returns a warning for each setting of a step that the job requests but that the trainer does not let jobs change. */
function fixedStepWarnings(
  { name, fixedInStep = [] }: TrainerProfile,
  step: OptimizerStep,
): readonly string[] {
  const spelled: Readonly<Record<keyof OptimizerStep, string>> = {
    learningRate: `a learning rate of ${step.learningRate}`,
    beta1: `beta 1 of ${step.beta1}`,
    beta2: `beta 2 of ${step.beta2}`,
    epsilon: `epsilon of ${step.epsilon}`,
    weightDecay: `weight decay of ${step.weightDecay}`,
    gradientNormMax: `gradient clipping to a norm of ${step.gradientNormMax}`,
  };
  const asked = Object.entries(spelled).filter(([field]) => fixedInStep.includes(field));
  const isOff: Partial<Record<string, boolean>> = {
    weightDecay: step.weightDecay === 0,
    gradientNormMax: step.gradientNormMax <= 0,
  };
  const fixed = asked.filter(([field]) => isOff[field] !== true);
  if (fixed.length === 0) return [];
  const named = fixed.map(([, text]) => text).join(", ");
  return [`The trainer ${name} ignores ${named}: its own configuration decides, or it does not support it.`];
}

/** Yields all batches that the plan computes, with their tokens read from disk. */
function* batchesOf({ batches, heldOut, read }: TrainingPlan): Generator<OptimizerBatch, void> {
  for (const batch of [...batches, ...(heldOut?.batches ?? [])]) yield read(batch);
}

/** Returns the state from which the trainer starts, and warnings about it to the job's creator. */
async function startOf(
  { trainers: { profile }, artifacts }: TrainingJobDependencies,
  { from, fromKind, seed, task }: TrainingRun,
): Promise<{ readonly start: TrainerStart; readonly warnings: readonly string[] }> {
  if (from === null) return { start: { kind: "new", seed }, warnings: [] };
  const state = ownState(profile, from.trainerState);
  const folder = await artifacts.path(from.adapterFolder, null);
  const fresh = freshOptimizerReason(profile, { from, fromKind, task });
  const warnings =
    fresh === null ? [] : [`Training continues from this version's weights with a fresh optimizer: ${fresh}`];
  if (state === null || (fresh !== null && profile.takesAdapters))
    return { start: { kind: "adapter", folder }, warnings };
  return { start: { kind: "state", state, keepsOptimizer: fresh === null }, warnings };
}

/**
 * Returns the reason why the job does not use a version's optimizer state; null if it uses that state, or if there
 * never was one.
 */
function freshOptimizerReason(
  { name }: TrainerProfile,
  { from, fromKind, task }: Pick<TrainingRun, "fromKind" | "task"> & { readonly from: StartVersion },
): string | null {
  // A version that no job made, such as an imported adapter, never had an optimizer state.
  if (fromKind === null) return null;
  if (fromKind !== task.kind)
    return `the version was made by a job of kind ${fromKind}, and this one is of kind ${task.kind}.`;
  if (from.trainerState === null) return "its optimizer state is no longer kept.";
  const { trainer } = stateOf(from.trainerState);
  return trainer === name ? null : `its state was kept by the trainer ${trainer}, and this one is ${name}.`;
}

function snapshotsOf(
  { clock, report, trainers, artifacts, snapshotShare }: TrainingJobDependencies,
  { workFolder, runKey, seed, from: version }: TrainingRun,
  { start, plan }: { readonly start: TrainerStart; readonly plan: TrainingPlan },
): JobSnapshots {
  const from = JSON.stringify([start.kind, version]);
  const key = { algorithm: trainerAlgorithm, seed, stepCount: plan.batches.length, from };
  const note = (message: string): Promise<void> => report({ kind: "noted", message });
  return new JobSnapshots({
    trainers,
    artifacts,
    workFolder,
    runKey,
    share: snapshotShare,
    key,
    clock,
    note,
  });
}

/**
 * Opens a trainer in the state after the last step that an earlier attempt saved, and returns the steps up to it.
 * Without a saved step, opens a trainer on the start version.
 */
async function resumeTrainer(
  trainers: TrainerProvider,
  snapshots: JobSnapshots,
  {
    plan,
    opened,
    call,
  }: {
    readonly plan: TrainingPlan;
    /** Opens a trainer on the start version. */
    readonly opened: () => Promise<Trainer>;
    readonly call: TrainerCall;
  },
): Promise<{ readonly trainer: Trainer; readonly past: PastSteps }> {
  const snapshot = await snapshots.newest(requiredArrays(plan));
  if (snapshot === null) return { trainer: await opened(), past: noSteps };
  const { state, past } = snapshot;
  try {
    return {
      trainer: await trainers.open({ kind: "state", state, keepsOptimizer: true }, call),
      past,
    };
  } catch (error) {
    if (!isUnusable(error)) throw error;
    await snapshots.discard(`Earlier steps are repeated: ${error.message}`);
    return { trainer: await opened(), past: noSteps };
  }
}

/**
 * Opens a trainer. If the files of a version cannot be read, writes the cause only to the log; the error for the job's
 * creator contains only the version's number.
 */
async function openTrainer(
  { trainers, artifacts, signal }: TrainingJobDependencies,
  start: TrainerStart,
  { from, fromHash, startStep, runKey }: TrainingRun,
): Promise<Trainer> {
  try {
    if (from !== null) await artifacts.path(from.adapterFolder, adapterSeal(fromHash));
    return await trainers.open(start, { id: runKey, signal });
  } catch (cause) {
    if (from === null || !isUnusable(cause)) throw cause;
    throw new ServiceError({
      code: "internal",
      message:
        `Version ${startStep}, which training starts from, cannot be read; the server's log says why. ` +
        "Restore its files from a copy, or delete the version.",
      cause,
    });
  }
}

/**
 * True if the error means that the start state cannot be used; false for an error of an unreachable or stopped trainer.
 */
function isUnusable(error: unknown): error is ServiceError {
  const codes: readonly string[] = ["invalid", "not_found", "unsupported", "conflict"];
  return error instanceof ServiceError && codes.includes(error.code);
}

/**
 * Computes the checked sequences with the new weights, and judges how they differ from before training.
 *
 * @throws ServiceError `unsupported` if the model no longer gives finite numbers, because even finite weights may
 * overflow in products
 */
async function checkResult(
  trainer: Trainer,
  { metrics, batches, optimizerStep }: TrainingPlan,
  steps: TakenSteps,
  signal: AbortSignal,
): Promise<JobResult> {
  const { checked } = steps;
  const computed = await trainer.forward(checked, { id: "check", signal });
  if (computed.logprobs.every((logprobs) => logprobs.every(Number.isFinite)))
    return metrics.result?.(steps.metrics, checked, computed) ?? unjudged;
  throw new ServiceError({
    code: "unsupported",
    message:
      "After its last step the model no longer gives finite log-probabilities, so the job makes no version; " +
      `lower the learning rate, which is ${optimizerStep(batches.length - 1).learningRate}.`,
  });
}
