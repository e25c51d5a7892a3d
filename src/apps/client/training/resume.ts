// Finds the round at which an earlier run resumes. A round first logs its trajectories, with the round's number as a
// metric, and then creates its job. So the newest log shows the last round that was sampled, and the newest job
// whether that round was trained.
import type { LoggedMetrics, TrainingJob } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import type { Model } from "../trained-model.ts";

export interface RunState {
  /** Number of the next round to run. */
  readonly round: number;
  /** Unfinished job of the round before `round`; null if there is none. */
  readonly openJob: TrainingJob | null;
  /** Validations so far, oldest first. */
  readonly validated: readonly { readonly step: number; readonly reward: number }[];
  /** Id of the newest log of a round; null if there is none. */
  readonly logId: string | null;
}

/** Returns the name of the metric whose value is a run's round number. */
export function roundMetricOf(run: string | undefined): string {
  return run === undefined ? "round" : `round/${run}`;
}

export async function runState(
  model: Model,
  roundMetric: string,
  options: RequestOptions,
): Promise<RunState> {
  const validated = await validationsOf(model, roundMetric, options);
  const log = await newestLog(model, roundMetric, options);
  if (log === null) return { round: 0, openJob: null, validated, logId: null };
  const round = roundIn(log, "train", roundMetric) ?? 0;
  const job = await jobOfLog(model, log, options);
  // A failed or cancelled job has made no version, so its round is repeated.
  if (job === null || job.state === "failed" || job.state === "cancelled")
    return { round, openJob: null, validated, logId: log.id };
  const openJob = job.state === "succeeded" ? null : job;
  return { round: round + 1, openJob, validated, logId: log.id };
}

function roundIn({ metrics }: LoggedMetrics, split: string, roundMetric: string): number | undefined {
  return metrics[`${split}/${roundMetric}`];
}

/** Returns the newest log of a round; null if there is none. */
export async function newestLog(
  { hone, id }: Model,
  roundMetric: string,
  options: RequestOptions,
): Promise<LoggedMetrics | null> {
  for await (const log of hone.trajectories.metrics(id, { split: "train", order: "desc" }, options))
    if (roundIn(log, "train", roundMetric) !== undefined) return log;
  return null;
}

async function jobOfLog(
  { hone, id }: Model,
  log: LoggedMetrics,
  options: RequestOptions,
): Promise<TrainingJob | null> {
  const { data } = await hone.jobs.list({ model_id: id, kind: "rl", limit: 1 }, options).first();
  const [job] = data;
  return job !== undefined && job.created_at >= log.recorded_at ? job : null;
}

async function validationsOf(
  { hone, id }: Model,
  roundMetric: string,
  options: RequestOptions,
): Promise<RunState["validated"]> {
  const validated: { readonly step: number; readonly reward: number }[] = [];
  for await (const log of hone.trajectories.metrics(id, { split: "val" }, options)) {
    const reward = log.metrics["val/reward"];
    if (roundIn(log, "val", roundMetric) !== undefined && reward !== undefined)
      validated.push({ step: log.step, reward });
  }
  return validated;
}
