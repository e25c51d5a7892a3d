// Takes the next action of a reinforcement job: samples answers and submits their training job, or records the result
// of that job. Each action ends with one write to the database, so that another server can continue after it.
import type { Caller } from "../../base/domain/access.ts";
import type { UsedModels } from "../../base/domain/fine-tuning/ask-model.ts";
import type { FineTuningJob, FineTuningStore } from "../../base/domain/fine-tuning/fine-tuning-job.ts";
import type { ReinforcementEvent, ReinforcementStep } from "../../base/domain/fine-tuning/reinforcement.ts";
import { isTerminal, trainedTokens, type JobStore, type TrainingJob } from "../../base/domain/job.ts";
import type { ModelStore } from "../../base/domain/model.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import { newJob } from "../jobs/new-job.ts";
import type { JobQueue } from "../jobs/job-queue.ts";
import type { FileService } from "../uploads/file-service.ts";
import { reinforcementConfigOf } from "./hyperparameters.ts";
import { sampleItems, type GradedItem, type SamplingDependencies } from "./sample-answers.ts";
import { itemsOfStep, readItems } from "./step-items.ts";
import { hasSpread, mean, rewardMetrics, stepData } from "./training-groups.ts";

export interface StepDependencies extends Omit<SamplingDependencies, keyof UsedModels> {
  readonly fineTuning: FineTuningStore;
  readonly jobs: Pick<JobStore, "find">;
  readonly jobQueue: Pick<JobQueue, "submit" | "cancel">;
  readonly models: Pick<ModelStore, "newestVersion">;
  readonly files: Pick<FileService, "find" | "use">;
  /** Returns functions that use this server's models on behalf of the caller. */
  readonly modelsAs: (caller: Caller) => UsedModels;
  readonly owner: () => string;
}

/**
 * Takes the next action of a job that this server runs.
 *
 * @returns true if the job may have another action now; false if its training job still runs, or it has ended
 * @throws ServiceError if the job cannot continue
 */
export async function nextAction(
  dependencies: StepDependencies,
  job: FineTuningJob,
  signal: AbortSignal,
): Promise<boolean> {
  const steps = job.progress?.steps ?? [];
  if (job.trainingJobId !== null) {
    const training = await dependencies.jobs.find(job.trainingJobId);
    if (training !== null && !isTerminal(training.state)) return false;
    await recordTraining(dependencies, job, requireSucceeded(training), signal);
    return true;
  }
  if (steps.length < (job.progress?.stepCountTotal ?? 0)) {
    await sampleStep(dependencies, job, signal);
    return true;
  }
  const { fineTuning, clock, owner } = dependencies;
  await fineTuning.changeState(job.id, {
    from: ["running"],
    to: "succeeded",
    at: clock.now(),
    owner: owner(),
  });
  return false;
}

function requireSucceeded(training: TrainingJob | null): TrainingJob {
  if (training?.state === "succeeded") return training;
  const reason = training?.errorMessage ?? "It was deleted.";
  throw new ServiceError({ code: "conflict", message: `The training job of a step failed: ${reason}` });
}

/** Samples and grades the answers of the next step, and submits their training job. */
async function sampleStep(
  dependencies: StepDependencies,
  job: FineTuningJob,
  signal: AbortSignal,
): Promise<void> {
  const { order, progress, modelId } = job;
  const steps = progress?.steps ?? [];
  const newest = await dependencies.models.newestVersion(modelId);
  if (newest === null) throw notFound("model", modelId);
  const items = await itemsIn(dependencies, order.trainingFile, itemsOfStep(order, steps.length));
  const answerCount = Math.max(2, Math.round(8 * Number(order.hyperparameters["compute_multiplier"])));
  const request = { job, version: newest.step, answerCount, seed: order.seed + steps.length * 104_729 };
  const graded = await sampleItems(
    { ...dependencies, ...dependencies.modelsAs(callerOf(job)) },
    items,
    request,
    signal,
  );
  const answered = graded.filter(({ fault }) => fault === null);
  if (answered.length === 0)
    throw new ServiceError({
      code: "conflict",
      message: `No item of step ${steps.length + 1} was answered. The first reason: ${graded[0]?.fault ?? "The training file has no such line."}`,
    });
  const metrics = rewardMetrics(graded);
  const shown = `Step ${steps.length + 1}/${progress?.stepCountTotal ?? 0}: mean reward=${metrics["train_reward_mean"].toFixed(4)}`;
  const useful = answered.filter(hasSpread);
  if (useful.length === 0) {
    const skipped = `${shown}; all answers to each item earned the same, so nothing was trained`;
    await append(dependencies, job, {
      step: { trainingJobId: "", version: null, metrics },
      message: skipped,
    });
    return;
  }
  const trainingJobId = await submit(dependencies, job, useful, newest.step);
  const step = { trainingJobId, version: null, metrics };
  if (await append(dependencies, job, { step, message: shown, trainingJobId })) return;
  // The job was paused or cancelled meanwhile. A resumed job finds the training job again by its idempotency key.
  const now = await dependencies.fineTuning.find(job.id);
  if (now?.state === "cancelled") await dependencies.jobQueue.cancel(trainingJobId);
}

async function submit(
  { jobQueue, clock }: StepDependencies,
  { id, modelId, order, progress }: FineTuningJob,
  items: readonly GradedItem[],
  version: number,
): Promise<string> {
  const now = clock.now();
  const { lines, outlines } = stepData(items, version, now);
  const config = reinforcementConfigOf(order.hyperparameters, items.length);
  const draft = newJob({
    id: newUuid7(clock),
    modelId,
    task: { kind: "rl", config },
    configNotApplied: [],
    createdAt: now,
  });
  // Equal for each attempt at the step, so that a step never has two training jobs.
  const idempotency = {
    keyId: `fine-tuning/${id}`,
    key: `step ${progress?.steps.length ?? 0}`,
    bodyHash: id,
  };
  return (await jobQueue.submit(draft, lines, idempotency, { outlines, keyId: order.keyId })).id;
}

/** Records the version that a step's training job made. Evaluates the version if an evaluation is due. */
async function recordTraining(
  dependencies: StepDependencies,
  job: FineTuningJob,
  training: TrainingJob,
  signal: AbortSignal,
): Promise<void> {
  const steps = job.progress?.steps ?? [];
  const last = steps.at(-1);
  if (last === undefined) return;
  const tokens = training.counts === null ? 0 : trainedTokens(training.counts);
  const evaluated = await evaluation(dependencies, job, training.resultStep ?? 0, signal);
  const metrics = { ...last.metrics, trained_tokens: tokens, ...evaluated };
  const valid =
    evaluated === null ? "" : `, mean validation reward=${evaluated.valid_reward_mean.toFixed(4)}`;
  const step = { ...last, version: training.resultStep, metrics };
  await append(dependencies, job, { step, replaces: true, message: `Step ${steps.length} trained${valid}` });
}

async function evaluation(
  dependencies: StepDependencies,
  job: FineTuningJob,
  version: number,
  signal: AbortSignal,
): Promise<{ readonly valid_reward_mean: number } | null> {
  const { validationFile, hyperparameters, seed } = job.order;
  const stepCount = job.progress?.steps.length ?? 0;
  const isLast = stepCount === job.progress?.stepCountTotal;
  if (validationFile === null || (!isLast && stepCount % Number(hyperparameters["eval_interval"]) !== 0))
    return null;
  const { evaluatedMax } = dependencies.settings;
  const lines = Array.from({ length: evaluatedMax }, (_, line) => line);
  const items = await itemsIn(dependencies, validationFile, lines);
  const request = { job, version, answerCount: Number(hyperparameters["eval_samples"]), seed };
  const graded = await sampleItems(
    { ...dependencies, ...dependencies.modelsAs(callerOf(job)) },
    items,
    request,
    signal,
  );
  return {
    valid_reward_mean: mean(graded.flatMap(({ answers }) => answers.map(({ grade }) => grade.reward))),
  };
}

/** Stores a step with its event. Returns false if this server no longer runs the job. */
async function append(
  { fineTuning, clock, owner }: StepDependencies,
  { id, progress }: FineTuningJob,
  change: {
    readonly step: ReinforcementStep;
    /** True if the step replaces the last one. */
    readonly replaces?: boolean;
    readonly message: string;
    readonly trainingJobId?: string;
  },
): Promise<boolean> {
  const steps = progress?.steps ?? [];
  const kept = change.replaces === true ? steps.slice(0, -1) : steps;
  const data = { step: kept.length + 1, ...change.step.metrics };
  const event: ReinforcementEvent = {
    at: clock.now().toISOString(),
    level: "info",
    message: change.message,
    data,
  };
  return fineTuning.advance(id, owner(), {
    trainingJobId: change.trainingJobId ?? null,
    progress: {
      stepCountTotal: progress?.stepCountTotal ?? 0,
      steps: [...kept, change.step],
      events: [...(progress?.events ?? []), event],
    },
  });
}

async function itemsIn({ files }: StepDependencies, id: string, lines: readonly number[]) {
  return readItems(await files.use(await files.find(id, fileReader)), lines);
}

/** Caller for reading the job's files. Access was checked when the job was created. */
const fileReader: Caller = {
  keyId: "fine-tuning",
  entity: "",
  role: "admin",
  owner: "fine-tuning",
  scopes: null,
  project: null,
};

/**
 * Returns the caller in whose name the server asks models: a member of the job's entity, with the key that `order`
 * records.
 */
function callerOf({ entity, order }: FineTuningJob): Caller {
  return { keyId: order.keyId, entity, role: "member", owner: order.keyOwner, scopes: null, project: null };
}
