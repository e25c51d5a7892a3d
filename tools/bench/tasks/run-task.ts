// Trains a new model on a task with the client's `train`, or teaches it the task by supervised fine-tuning to see what the model
// can reach at all.
import type { Hone } from "../../../src/apps/client/hone.ts";
import { train } from "../../../src/apps/client/training/train.ts";
import type { TrainOptions } from "../../../src/apps/client/training/train-options.ts";
import type { Model } from "../../../src/apps/client/trained-model.ts";
import type { LearningCase, LearningTask } from "./learning-task.ts";

/** Options of `train` in place of its defaults. */
export type OtherOptions = Partial<Omit<TrainOptions<LearningCase>, "tasks" | "rollout">>;

export interface TaskRun {
  readonly task: string;
  readonly seed: number;
  /** Mean reward of version k's rollouts, k from 0 to the number of rounds. */
  readonly rewards: readonly number[];
  /** By round: how many groups had no spread, and means of the job's steps. */
  readonly rounds: readonly RoundNumbers[];
  readonly seconds: number;
}

interface RoundNumbers {
  readonly groupsWithoutSpread: number;
  readonly seconds: number;
  readonly warnings: readonly string[];
  readonly metrics: Readonly<Record<string, number>>;
}

/** As many rollouts of each case as a round has by default. */
const tries = 8;

export interface RunOptions {
  readonly base: string;
  readonly seed: number;
  readonly rounds: number;
  readonly other: OtherOptions;
  /** Told after every round. */
  readonly onRound: (round: number, reward: number) => unknown;
}

/** Trains a new model from `base`; every setting that `other` does not name is the default. */
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
    // The last version has no round of its own: it is measured as rounds are, by rollouts of the same prompts.
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

/** The mean reward of rollouts after supervised teaching of the task's own prompts with answers that earn 1. */
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
  // No round trains: the one validation is what `train` begins with.
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
