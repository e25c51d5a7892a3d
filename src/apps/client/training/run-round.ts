// Runs one round: rollouts with the newest version, a log of their trajectories, and a training job.
import type { TrainingJob } from "../api.ts";
import type { Model } from "../trained-model.ts";
import { HoneError } from "../hone-error.ts";
import { toTrajectoryGroup, hasSpread, type Group, type GroupPlace } from "./groups.ts";
import { newestLog } from "./resume.ts";
import { numbersOf, trainingNumbers, type RoundReport, type TrainingNumbers } from "./round-report.ts";
import { roundConfig } from "./round-config.ts";
import { runGroups, type RolloutMaker } from "./run-groups.ts";
import { seedOf } from "./seeds.ts";
import { tasksOfRound } from "./task-order.ts";
import type { TrainEvent } from "./train-event.ts";
import type { Resolved } from "./train-options.ts";

/** The model, options and state that all rounds of a run share. */
export interface RoundRun<Task> {
  readonly model: Model;
  readonly options: Resolved<Task>;
  readonly maker: RolloutMaker<Task>;
  readonly roundMetric: string;
  readonly emit: (event: TrainEvent) => void;
  /** Id of the newest log of a round when the run started; null if there was none. */
  readonly earlierLogId: string | null;
}

/**
 * Runs a round until its job has made a version.
 *
 * @param step step of the newest version
 * @throws HoneError `rollouts_failed`, `job_failed`, or the server's refusal; the signal's reason
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
  requireFitting(tasks.length, size);
  emit({ type: "rollouts-started", of: "round", round, step, total: tasks.length * size });
  const place = { roundMetric, round };
  const plan = { tasks, size, step, seed: seedOf(seed, "round", round), request, trainedIn: place };
  const groups = await runGroups(maker, plan);
  const metrics = await logged(run, groups, place);
  const sampledAtMs = platform.monotonicMs();
  const job = groups.every(({ rollouts }) => rollouts.length === 0) ? null : await trained();
  return {
    round,
    step,
    newStep: job?.result.result_step ?? null,
    ...numbersOf(groups),
    training: job?.training ?? null,
    seconds: {
      rollouts: (sampledAtMs - startedAtMs) / 1000,
      training: (platform.monotonicMs() - sampledAtMs) / 1000,
    },
    metrics,
    jobId: job?.result.id ?? null,
    warnings: [...(job?.result.warnings ?? []), ...foreignJobWarning(step, job?.result.result_step)],
  };

  /**
   * Trains on the server's own records of all rollouts, including groups without reward spread, so that the job's
   * counts and means describe the whole round.
   */
  async function trained(): Promise<FollowedJob> {
    const chosen = typeof config === "function" ? config(round) : config;
    const { signal } = maker;
    const newest = await model.hone.checkpoints
      .list(model.id, { order: "desc", limit: versionsSeen }, { signal })
      .first();
    const settings = roundConfig(chosen, {
      groupCount: groups.filter(hasSpread).length,
      // The initial version has no learning rate, and neither has a version whose job trained on nothing. So the newest
      // version that has a learning rate is used.
      metrics: newest.data.find(({ metrics: known }) => "loss/learning_rate" in known)?.metrics ?? {},
    });
    const ids = groups.flatMap(({ rollouts }) => rollouts.map(({ trajectory }) => trajectory.rolloutId));
    const body = { model_id: model.id, rollout_ids: ids, experimental_config: settings };
    const { id: jobId } = await model.hone.jobs.create(body, { signal });
    emit({ type: "job-started", round, jobId });
    return followedJob(run, round, jobId);
  }
}

/** Number of newest versions that are searched for a learning rate. Rarely do more consecutive rounds train nothing. */
const versionsSeen = 20;

const logAttemptsMax = 3;

/** Maximum number of rollouts that the server accepts in a job. */
const rolloutsMax = 10_000;

/** Refuses a round that is too large for a job, before its rollouts are sampled. */
function requireFitting(taskCount: number, groupSize: number): void {
  if (taskCount * groupSize <= rolloutsMax) return;
  const message = `A round has ${taskCount} tasks with ${groupSize} rollouts each; a job trains on at most ${rolloutsMax} rollouts. Set tasksPerRound.`;
  throw new HoneError({ code: "invalid", param: "tasksPerRound", message });
}

/** Logs a round exactly once. If the connection is lost, asks the server whether the log has arrived. */
async function logged<Task>(
  { model, maker: { signal }, earlierLogId }: RoundRun<Task>,
  groups: readonly Group<Task>[],
  place: GroupPlace,
): Promise<RoundReport["metrics"]> {
  const bodies = groups.map((group) => toTrajectoryGroup(group, place));
  for (let attempt = 1; ; attempt++) {
    try {
      return (await model.log(bodies, { split: "train", signal })).metrics;
    } catch (error) {
      const isLost = error instanceof HoneError && error.code === "connection";
      if (!isLost || attempt === logAttemptsMax) throw error;
      const arrived = await newestLog(model, place.roundMetric, { signal });
      const isThis = arrived?.metrics[`train/${place.roundMetric}`] === place.round;
      if (arrived !== null && isThis && arrived.id !== earlierLogId) return arrived.metrics;
    }
  }
}

/**
 * Returns a warning if the new version does not directly follow the sampled one: then another process has trained the
 * model too.
 */
function foreignJobWarning(step: number, newStep: number | null | undefined): readonly string[] {
  if (typeof newStep !== "number" || newStep === step + 1) return [];
  return [
    `This round sampled version ${step}, and its job made version ${newStep}: something else trains this model too, such as a second train process. ` +
      "Their rounds get mixed up. Stop one of them, or give each a separate model.",
  ];
}

/** A succeeded job, with its training numbers. */
export interface FollowedJob {
  readonly result: TrainingJob;
  readonly training: TrainingNumbers | null;
}

/**
 * Waits until a job succeeds, and reports its events.
 *
 * @throws HoneError `job_failed`
 */
export async function followedJob<Task>(
  { model, maker: { signal }, options, emit }: Pick<RoundRun<Task>, "model" | "maker" | "emit" | "options">,
  round: number,
  jobId: string,
): Promise<FollowedJob> {
  let training: TrainingNumbers | null = null;
  const result = await model.hone.jobs.wait(jobId, {
    signal,
    deadline: options.serverTimeout,
    onEvent: (event) => {
      if (event.type === "training_ended") training = trainingNumbers(event.data);
      emit({ type: "job-event", round, event });
    },
  });
  return { result, training };
}
