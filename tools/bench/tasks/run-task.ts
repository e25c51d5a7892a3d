// Trains a new model on a task with the client's `train`. Can instead fine-tune it on the task's ideal answers, to find
// out which reward the model can reach.
import type { Hone } from "../../../src/apps/client/hone.ts";
import { train } from "../../../src/apps/client/training/train.ts";
import type { TrainOptions } from "../../../src/apps/client/training/train-options.ts";
import type { Model } from "../../../src/apps/client/trained-model.ts";
import type { LearningCase, LearningTask } from "./learning-task.ts";

/** Options of `train` that replace its defaults. */
export type OtherOptions = Partial<Omit<TrainOptions<LearningCase>, "tasks" | "rollout">>;

export interface TaskRun {
  readonly task: string;
  readonly seed: number;
  /**
   * Mean reward of the rollouts with each version. The index is the version; the last index is the number of rounds.
   */
  readonly rewards: readonly number[];
  /** For each round: the number of groups without reward spread, and the means over the job's steps. */
  readonly rounds: readonly RoundNumbers[];
  readonly seconds: number;
}

interface RoundNumbers {
  readonly groupsWithoutSpread: number;
  readonly seconds: number;
  readonly warnings: readonly string[];
  readonly metrics: Readonly<Record<string, number>>;
}

/** Rollouts per case; the number that `train` uses per round by default. */
const tries = 8;

export interface RunOptions {
  readonly base: string;
  readonly seed: number;
  readonly rounds: number;
  readonly other: OtherOptions;
  /** Called after every round. */
  readonly onRound: (round: number, reward: number) => unknown;
}

/** Trains a new model from `base`. Settings that `other` does not name keep their defaults. */
export async function runTask(
  hone: Hone,
  task: LearningTask,
  { base, seed, rounds: count, other, onRound }: RunOptions,
): Promise<TaskRun> {
  const model = await newModel(hone, task, base);
  const startedAtMs = hone.platform.monotonicMs();
  const rounds: RoundNumbers[] = [];
  const result = await train(model, {
    tasks: task.cases,
    rollout: (one, trajectory) => one.attempt(trajectory),
    seed,
    rounds: count,
    // The last version makes no rollouts, because no round follows it. A validation measures it with as many rollouts
    // of the same prompts.
    validation: { tasks: task.cases, every: count, tries },
    ...other,
    onRound: async (report) => {
      const job = report.jobId === null ? null : await hone.jobs.get(report.jobId);
      const step = job?.result_step ?? null;
      const version = step === null ? null : await hone.checkpoints.get(model.id, step);
      rounds.push({
        groupsWithoutSpread: report.groupsWithoutSpread,
        seconds: report.seconds.rollouts + report.seconds.training,
        warnings: report.warnings,
        metrics: version?.metrics ?? {},
      });
      onRound(report.round, report.reward ?? 0);
    },
  });
  const rewards = result.rounds.map(({ reward }) => reward ?? 0);
  const last = result.rounds.at(-1)?.validation?.reward;
  return {
    task: task.name,
    seed,
    rewards: last === undefined ? rewards : [...rewards, last],
    rounds,
    seconds: (hone.platform.monotonicMs() - startedAtMs) / 1000,
  };
}

/**
 * Fine-tunes a model on the task's own prompts with answers that earn 1, and returns the mean reward of its rollouts.
 */
export async function taughtReward(
  hone: Hone,
  task: LearningTask,
  { base, seed }: Pick<RunOptions, "base" | "seed">,
): Promise<number> {
  const model = await newModel(hone, task, base);
  const { id } = await hone.jobs.createSupervised({
    model_id: model.id,
    training_data: task.cases.map(({ lesson }) => lesson),
    config: { epochs: 60, learning_rate: 1e-3, batch_size: task.cases.length },
  });
  await hone.jobs.wait(id);
  let reward = 0;
  // Runs no training round: `train` only performs its initial validation.
  await train(model, {
    tasks: task.cases,
    rollout: (one, trajectory) => one.attempt(trajectory),
    seed,
    rounds: 0,
    resume: false,
    validation: { tasks: task.cases, tries },
    display: false,
    onEvent: (event) => {
      if (event.type === "version-validated") reward = event.validation.reward;
    },
  });
  return reward;
}

let modelCount = 0;

function newModel(hone: Hone, task: LearningTask, base: string): Promise<Model> {
  modelCount += 1;
  return hone.model(`tasks/${task.name}-${modelCount}`, { base });
}
