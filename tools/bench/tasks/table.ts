// Summarizes the runs of each task, and formats all tasks as a Markdown table.
import type { TaskRun } from "./run-task.ts";

/** Maximum reward of every task. A model can reach it; see `taughtReward`. */
const reachable = 1;

/** Share of the attainable reward at which a run counts as learned. */
const learnedShare = 0.8;

export interface TaskOutcome {
  readonly task: string;
  readonly reachable: number;
  readonly runs: readonly (TaskRun & {
    /**
     * Number of training rounds before the first version that earns 0.8 of the attainable reward; null if no version
     * does.
     */
    readonly roundsToLearn: number | null;
  })[];
  /** True if four fifths of the seeds reach 0.8 of the attainable reward. */
  readonly isLearned: boolean;
}

export function outcomeOf(task: string, runs: readonly TaskRun[]): TaskOutcome {
  const judged = runs.map((run) => {
    const round = run.rewards.findIndex((reward) => reward >= learnedShare * reachable);
    return { ...run, roundsToLearn: round < 0 ? null : round };
  });
  const learned = judged.filter(({ roundsToLearn }) => roundsToLearn !== null).length;
  return { task, reachable, runs: judged, isLearned: learned >= 0.8 * runs.length };
}

/** Returns the table with one row per task; a row lists its seeds in order. */
export function tableOf(outcomes: readonly TaskOutcome[]): string {
  const rows = outcomes.map(({ task, runs, isLearned }) => {
    const before = runs.map(({ rewards }) => (rewards[0] ?? Number.NaN).toFixed(2)).join(" ");
    const after = runs.map(({ rewards }) => (rewards.at(-1) ?? Number.NaN).toFixed(2)).join(" ");
    const rounds = runs.map(({ roundsToLearn }) => roundsToLearn ?? "–").join(" ");
    return `| ${task} | ${before} | ${reachable.toFixed(2)} | ${after} | ${rounds} | ${isLearned ? "yes" : "no"} |`;
  });
  const count = outcomes[0]?.runs[0]?.rounds.length ?? 0;
  return [
    `| task | before | attainable | after ${count} rounds | rounds to 0.8 of attainable | learned |`,
    "|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}
