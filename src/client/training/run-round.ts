// One round: rollouts of the newest version, their log, and a training job of those that teach something.
import type { TrainingJob } from "../api.ts";
import type { Model } from "../trained-model.ts";
import { bodyOf, hasSpread } from "./groups.ts";
import { numbersOf, type RoundReport } from "./round-report.ts";
import { roundConfig } from "./round-config.ts";
import { runGroups, type RolloutMaker } from "./run-groups.ts";
import { seedOf } from "./seeds.ts";
import { tasksOfRound } from "./task-order.ts";
import type { TrainEvent } from "./train-event.ts";
import type { Resolved } from "./train-options.ts";

/** What all rounds of a run share. */
export interface RoundRun<Task> {
  readonly model: Model;
  readonly options: Resolved<Task>;
  readonly maker: RolloutMaker<Task>;
  readonly roundMetric: string;
  readonly emit: (event: TrainEvent) => void;
}

/**
 * Runs a round to the version that it makes.
 *
 * @param step of the newest version
 * @throws HoneError `rollouts_failed`, `job_failed`, and where the server refuses something; the signal's reason
 */
export async function runRound<Task>(
  run: RoundRun<Task>,
  { round, step }: { readonly round: number; readonly step: number },
): Promise<Omit<RoundReport, "validation">> {
  const { model, options, maker, roundMetric, emit } = run;
  const { seed, groupSize: size, request, tasksPerRound: count, config } = options;
  const { platform } = model.hone;
  const startedAtMs = platform.monotonicMs();
  const tasks = await tasksOfRound(options.tasks, { round, count, seed });
  emit({ type: "rollouts-started", of: "round", round, step, total: tasks.length * size });
  const groups = await runGroups(maker, { tasks, size, step, seed: seedOf(seed, "round", round), request });
  const bodies = groups.map((group) => bodyOf(group, { roundMetric, round }));
  const { signal } = maker;
  const { metrics } = await model.log(bodies, { split: "train", signal });
  const sampledAtMs = platform.monotonicMs();
  const teaching = bodies.filter((_, index) => hasSpread(groups[index] ?? { rollouts: [] }));
  const job = teaching.length === 0 ? null : await trained();
  return {
    round,
    step,
    newStep: job?.result_step ?? null,
    ...numbersOf(groups),
    seconds: {
      rollouts: (sampledAtMs - startedAtMs) / 1000,
      training: (platform.monotonicMs() - sampledAtMs) / 1000,
    },
    metrics,
    jobId: job?.id ?? null,
    warnings: job?.warnings ?? [],
  };

  async function trained(): Promise<TrainingJob> {
    const chosen = typeof config === "function" ? config(round) : config;
    const newest = await model.hone.checkpoints
      .list(model.id, { order: "desc", limit: 1 }, { signal })
      .first();
    const settings = roundConfig(chosen, {
      groupCount: teaching.length,
      // A model without versions, the base included, has none.
      metrics: newest.data[0]?.metrics ?? {},
    });
    const jobId = await model.train(teaching, settings, { signal });
    emit({ type: "job-started", round, jobId });
    return followedJob(run, round, jobId);
  }
}

/** Waits for a job's end. @throws HoneError `job_failed` */
export function followedJob<Task>(
  { model, maker: { signal }, emit }: Pick<RoundRun<Task>, "model" | "maker" | "emit">,
  round: number,
  jobId: string,
): Promise<TrainingJob> {
  return model.hone.jobs.wait(jobId, {
    signal,
    onEvent: (event) => emit({ type: "job-event", round, event }),
  });
}
