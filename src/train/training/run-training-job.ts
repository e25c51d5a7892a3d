// One training job from its trajectories to a published version. The story alone: who computes, where files lie and
// how progress becomes durable are given.
import { join } from "node:path";
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import { unreachable } from "../../base/domain/assert.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { JobKind, JobOutcome, JobReport } from "../../base/domain/job.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import {
  requireTrainerFor,
  type TrainerProfile,
  type TrainerTask,
} from "../../base/domain/trainer/profile.ts";
import { ownState, stateOf, storedState } from "../../base/domain/trainer/state.ts";
import { adapterSeal } from "../../inference/model/hashes/adapter-hash.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { ConversationTokenizer } from "../trajectories/conversation-tokenizer.ts";
import type { TurnRenderer } from "../trajectories/example-sequences.ts";
import { type JobResult, type TrainingPlan, unjudged } from "./plans/plan.ts";
import { planPreference } from "./plans/preference.ts";
import { planReinforcement } from "./plans/reinforcement.ts";
import { movementWarning } from "./plans/step-counts.ts";
import { planSupervised } from "./plans/supervised.ts";
import type { JobWork, WorkLines } from "./plans/work.ts";
import type { OptimizerBatch } from "./data/optimizer-batches.ts";
import { readBatch } from "./data/planned-sequence.ts";
import { PreparedLines } from "./prepared/prepared-lines.ts";
import { preparedFileName, TokenFile } from "./prepared/token-file.ts";
import { publishVersion } from "./folders/publish.ts";
import { type PinnedSettings, trainerAlgorithm } from "./settings.ts";
import { JobSnapshots, noSteps, type PastSteps } from "./steps/job-snapshots.ts";
import { neededArrays, takeSteps, reportAgain, type TakenSteps } from "./steps/take-steps.ts";
import type { OptimizerStep, Trainer, TrainerCall, TrainerProvider, TrainerStart } from "./trainer.ts";

export interface TrainingJobDependencies {
  readonly trainers: TrainerProvider;
  readonly artifacts: ArtifactStore;
  readonly tokenizer: ConversationTokenizer & TurnRenderer;
  readonly report: JobReport;
  readonly clock: Clock;
}

export interface TrainingJobInput {
  /** Of the job's content: decides the first adapter of a model and the order of the steps. */
  readonly seed: string;
  readonly work: JobWork;
  readonly settings: PinnedSettings;
  /** The version to go on from; null for the base model. */
  readonly from: StartVersion | null;
  /** Hex SHA-256 of that version's adapter; null where it was not recorded, and for the base model. */
  readonly fromHash: string | null;
  /** Hex SHA-256 of the base model's weights. */
  readonly base: string;
  /** That version's number. */
  readonly startStep: number;
  /** What kind of job made that version; null when none did. */
  readonly fromKind: JobKind | null;
  /** The key of the result; replaced when a lost attempt left it. */
  readonly adapterFolder: string;
  /** Where attempts at this job keep what they have done. */
  readonly workFolder: string;
  /** What the run is called at its trainer, and the key that its states lie below. */
  readonly runKey: string;
  /** Which part of the job's time may go into that; see {@link JobSnapshots}. */
  readonly snapshotShare: number;
  /** How many steps earlier attempts are known to have reported, the first ones. */
  readonly reportedStepCount: number;
  /** Aborted, the job rejects with `cancelled` and publishes nothing. */
  readonly signal: AbortSignal;
}

/** A version that training goes on from. */
export interface StartVersion {
  /** The key of its PEFT folder. */
  readonly adapterFolder: string;
  /** As it is stored: with the name of the trainer that keeps it. */
  readonly trainerState: string | null;
}

/**
 * Runs the job to its end. The same version, trajectories, settings and seed give the same adapter, byte for byte, so
 * a second attempt after a crash changes nothing that the first one reported; it goes on behind the last step that the
 * first one kept.
 *
 * A job in which nothing can train takes no step and publishes what it started from.
 */
export async function runTrainingJob(
  dependencies: TrainingJobDependencies,
  input: TrainingJobInput,
): Promise<JobOutcome> {
  const { clock } = dependencies;
  const startMs = clock.monotonicMs();
  const secondsSpent = (): number => (clock.monotonicMs() - startMs) / 1000;
  const file = new TokenFile(join(input.workFolder, preparedFileName), preparedKey(dependencies, input));
  try {
    const plan = await planJob(dependencies, input, file);
    return await carryOut(plan, dependencies, { ...input, secondsSpent });
  } finally {
    file.close();
  }
}

/** What the prepared lines of a job depend on, beside the base model's files, to which a job is pinned. */
function preparedKey(
  { trainers }: TrainingJobDependencies,
  { work, seed, settings }: TrainingJobInput,
): JsonObject {
  const sequenceLengthMax = sequenceLengthMaxOf(trainers, settings);
  // Its own configuration decides too which of its lines train.
  const config = JSON.stringify(work.config);
  return { algorithm: trainerAlgorithm, kind: work.kind, seed, config, sequenceLengthMax };
}

function sequenceLengthMaxOf(trainers: TrainerProvider, settings: PinnedSettings): number {
  return Math.min(trainers.sequenceLengthMax, settings.sequenceLengthMax);
}

function planJob(
  { trainers, tokenizer, clock, report }: TrainingJobDependencies,
  { work, settings, seed, startStep, from }: TrainingJobInput,
  file: TokenFile,
): Promise<TrainingPlan> {
  const { profile } = trainers;
  // It was asked when the job came; another trainer may have come since.
  const { basePrecision } = settings;
  // What each kind of task names is of its own configuration.
  const task = { kind: work.kind, config: { ...work.config, basePrecision } } as TrainerTask;
  requireTrainerFor(profile, task, from ?? { adapterFolder: null, trainerState: null });
  const model = { tokenizer, sequenceLengthMax: sequenceLengthMaxOf(trainers, settings) };
  const prepared = <Item>(lines: WorkLines<Item>): PreparedLines<Item> =>
    new PreparedLines(file, lines, {
      clock,
      report: (count, total, secondsLeft) => report({ kind: "prepared", count, total, secondsLeft }),
    });
  const read: TrainingPlan["read"] = (batch) => readBatch(file, batch);
  switch (work.kind) {
    case "rl":
      return planReinforcement(work, prepared(work.groups), model, {
        profile,
        settings,
        seed,
        startStep,
        read,
      });
    case "sft":
      return planSupervised(work, prepared(work.conversations), model, { seed, read });
    case "preference":
      return planPreference(work, prepared(work.preferences), model, { seed, read });
    default:
      return unreachable(work);
  }
}

/** Takes the steps of the plan, and publishes what comes of them. */
async function carryOut(
  plan: TrainingPlan,
  dependencies: TrainingJobDependencies,
  input: TrainingJobInput & { readonly secondsSpent: () => number },
): Promise<JobOutcome> {
  const { trainers, report, clock } = dependencies;
  const { adapterFolder, secondsSpent, signal, settings } = input;
  const { batches, counts } = plan;
  await trainers.requireMemory?.({ [Symbol.iterator]: () => batchesOf(plan) }, plan.loss);
  await report({ kind: "started", stepCount: batches.length, counts, metrics: plan.metrics.start });
  const start = await startOf(dependencies, input);
  const stepWarnings = batches.length === 0 ? [] : fixedStepWarnings(trainers.profile, plan.optimizerStep(0));
  for (const warning of [...plan.warnings, ...start.warnings, ...stepWarnings])
    await report({ kind: "warned", warning });
  const snapshots = snapshotsOf(dependencies, input, { start: start.start, plan });
  const opened = () => openTrainer(dependencies, start.start, input);
  const { trainer, past } = await openWhereLeft(trainers, snapshots, { plan, opened, input });
  try {
    const { basePrecision } = settings;
    const context = { report, clock, snapshots, secondsSpent, basePrecision, signal };
    await reportAgain(past, plan, { report, reportedCount: input.reportedStepCount });
    const steps = await takeSteps(trainer, plan, past, context);
    const warning = movementWarning(steps.metrics);
    if (warning !== null) await report({ kind: "warned", warning });
    await report({ kind: "entered", phase: "publishing" });
    const result = batches.length === 0 ? unjudged : await checkResult(trainer, plan, steps, input);
    for (const each of result.warnings) await report({ kind: "warned", warning: each });
    if (result.refusal !== null) throw new ServiceError({ code: "unsupported", message: result.refusal });
    const target = { artifacts: dependencies.artifacts, adapterFolder };
    const { adapterHash, state } = await publishVersion(trainer, target, { signal });
    const trainerState = storedState(trainers.profile.name, state);
    const metrics = {
      ...plan.metrics.version(steps.metrics, past.seconds + secondsSpent()),
      ...result.metrics,
    };
    return { adapterFolder, trainerState, base: input.base, adapterHash, counts, metrics };
  } finally {
    await trainer.close();
  }
}

/** What of the steps the trainer does in its own way. */
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
    gradientNormMax: `gradients cut to a norm of ${step.gradientNormMax}`,
  };
  const asked = Object.entries(spelled).filter(([field]) => fixedInStep.includes(field));
  const isOff: Partial<Record<string, boolean>> = {
    weightDecay: step.weightDecay === 0,
    gradientNormMax: step.gradientNormMax <= 0,
  };
  const fixed = asked.filter(([field]) => isOff[field] !== true);
  if (fixed.length === 0) return [];
  const named = fixed.map(([, text]) => text).join(", ");
  return [`The trainer ${name} takes no notice of ${named}: its own configuration says it, or it has none.`];
}

/** One after another, with their tokens. */
function* batchesOf({ batches, read }: TrainingPlan): Generator<OptimizerBatch, void> {
  for (const batch of batches) yield read(batch);
}

/** Where the trainer starts, and warnings about that for the job's sender. */
async function startOf(
  { trainers: { profile }, artifacts }: TrainingJobDependencies,
  { from, fromKind, seed, work }: TrainingJobInput,
): Promise<{ readonly start: TrainerStart; readonly warnings: readonly string[] }> {
  if (from === null) return { start: { kind: "new", seed }, warnings: [] };
  const state = ownState(profile, from.trainerState);
  const folder = await artifacts.path(from.adapterFolder, null);
  const fresh = freshOptimizerReason(profile, { from, fromKind, work });
  const warnings =
    fresh === null ? [] : [`Training goes on from this version's weights with a fresh optimizer: ${fresh}`];
  if (state === null || (fresh !== null && profile.takesAdapters))
    return { start: { kind: "adapter", folder }, warnings };
  return { start: { kind: "state", state, keepsOptimizer: fresh === null }, warnings };
}

/** Why the optimizer starts anew though the version is not the base; null when it does not, or never was one. */
function freshOptimizerReason(
  { name }: TrainerProfile,
  { from, fromKind, work }: Pick<TrainingJobInput, "fromKind" | "work"> & { readonly from: StartVersion },
): string | null {
  // What no job made, such as an imported adapter, never had an optimizer.
  if (fromKind === null) return null;
  if (fromKind !== work.kind)
    return `the version was made by a job of kind ${fromKind}, and this one is of kind ${work.kind}.`;
  if (from.trainerState === null) return "the state of its optimizer is not kept any more.";
  const { trainer } = stateOf(from.trainerState);
  return trainer === name ? null : `its state was kept by the trainer ${trainer}, and this one is ${name}.`;
}

function snapshotsOf(
  { clock, report, trainers, artifacts }: TrainingJobDependencies,
  { workFolder, runKey, snapshotShare, seed, from: version }: TrainingJobInput,
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

/** A trainer behind the last step that an earlier attempt kept, and those steps; else one on the version to start from. */
async function openWhereLeft(
  trainers: TrainerProvider,
  snapshots: JobSnapshots,
  {
    plan,
    opened,
    input,
  }: {
    readonly plan: TrainingPlan;
    /** A trainer on the version to start from. */
    readonly opened: () => Promise<Trainer>;
    readonly input: TrainingJobInput;
  },
): Promise<{ readonly trainer: Trainer; readonly past: PastSteps }> {
  const snapshot = await snapshots.newest(neededArrays(plan));
  if (snapshot === null) return { trainer: await opened(), past: noSteps };
  const { state, past } = snapshot;
  try {
    return {
      trainer: await trainers.open({ kind: "state", state, keepsOptimizer: true }, runOf(input)),
      past,
    };
  } catch (error) {
    if (!isUnusable(error)) throw error;
    await snapshots.discard(`The steps taken before are taken again: ${error.message}`);
    return { trainer: await opened(), past: noSteps };
  }
}

/** Why a version cannot be read is for the log: the job's sender learns only which version it is. */
async function openTrainer(
  { trainers, artifacts }: TrainingJobDependencies,
  start: TrainerStart,
  input: TrainingJobInput,
): Promise<Trainer> {
  const { from, fromHash, startStep } = input;
  try {
    if (from !== null) await artifacts.path(from.adapterFolder, adapterSeal(fromHash));
    return await trainers.open(start, runOf(input));
  } catch (cause) {
    if (from === null || !isUnusable(cause)) throw cause;
    throw new ServiceError({
      code: "internal",
      message:
        `Version ${startStep}, which training starts from, cannot be read; the server's log says why. ` +
        "Put its files back from a copy, or delete the version.",
      cause,
    });
  }
}

/** Whether it is what a trainer was to start from that is wrong, and not that the trainer cannot be reached or was stopped. */
function isUnusable(error: unknown): error is ServiceError {
  const codes: readonly string[] = ["invalid", "not_found", "unsupported", "conflict"];
  return error instanceof ServiceError && codes.includes(error.code);
}

/** The run as its trainer knows it, whichever attempt at the job goes on with it. */
function runOf({ runKey, signal }: TrainingJobInput): TrainerCall {
  return { id: runKey, signal };
}

/**
 * Computes the checked sequences with the new weights, and judges them.
 *
 * @throws ServiceError `unsupported` where the model does not give finite numbers any more: weights that are finite by
 *   themselves may still overflow in products
 */
async function checkResult(
  trainer: Trainer,
  { metrics, batches, optimizerStep }: TrainingPlan,
  steps: TakenSteps,
  input: TrainingJobInput,
): Promise<JobResult> {
  const { checked } = steps;
  const computed = await trainer.forward(checked, callOf("check", input));
  if (computed.logprobs.every((logprobs) => logprobs.every(Number.isFinite)))
    return metrics.result?.(steps.metrics, checked, computed) ?? unjudged;
  throw new ServiceError({
    code: "unsupported",
    message:
      "After its last step the model does not give finite log-probabilities any more, so no version is made of it; " +
      `lower the learning rate, which is ${optimizerStep(batches.length - 1).learningRate}.`,
  });
}

function callOf(id: string, { signal }: Pick<TrainingJobInput, "signal">): TrainerCall {
  return { id, signal };
}
