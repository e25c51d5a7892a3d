// Filters of the job list, and texts of its cells. Has no side effects.
import type { ServerSummary, TrainingJob } from "../../client/api.ts";
import { filtersNamed } from "../components/filters.ts";
import { durationText } from "../components/numbers.ts";
import { type RewardName, rewardNames } from "./version-curves.ts";

export const jobStates = ["queued", "running", "succeeded", "failed", "cancelled"] as const;
/** Kinds of jobs in the API, with their titles. */
export const jobKinds = [
  ["rl", "reinforcement"],
  ["sft", "supervised"],
  ["preference", "preference"],
] as const;

/** Returns the title of a kind of jobs. */
export function kindTitle(kind: TrainingJob["kind"]): string {
  return jobKinds.find(([name]) => name === kind)?.[1] ?? kind;
}

/** Filters of the list, as the URL has them. The model is a part of its name. */
export type JobFilters = {
  readonly model?: string;
  readonly kind?: TrainingJob["kind"];
  readonly state?: TrainingJob["state"];
};

/** Returns the filters in a URL's query, without unknown kinds and states. */
export function jobFilters(query: URLSearchParams): JobFilters {
  const { model, kind: asked, state: wanted } = filtersNamed(["model", "kind", "state"], query);
  const kind = jobKinds.find(([name]) => name === asked)?.[0];
  const state = jobStates.find((name) => name === wanted);
  return {
    ...(model !== undefined && { model }),
    ...(kind !== undefined && { kind }),
    ...(state !== undefined && { state }),
  };
}

/** Returns the filters as the API takes them. */
export function jobQuery({ model, ...others }: JobFilters) {
  return { ...others, ...(model !== undefined && { search: model }) };
}

/** Returns the time that a job has run so far; a dash if it never started. */
export function ranFor({ duration_seconds: seconds }: Pick<TrainingJob, "duration_seconds">): string {
  return seconds === null ? "–" : durationText(seconds);
}

/** Returns the names of the rewards that at least one of the jobs has. They become columns. */
export function jobRewardColumns(jobs: readonly Pick<TrainingJob, "rewards">[]): readonly RewardName[] {
  return rewardNames.filter((name) =>
    jobs.some(({ rewards }) => rewards.some(({ metric }) => metric === name)),
  );
}

/** True if a job succeeded without a single optimizer step, so that its version answers as the one before. */
export function trainedNothing({ state, counts }: Pick<TrainingJob, "state" | "counts">): boolean {
  // Jobs of older servers have no number of steps.
  return state === "succeeded" && counts !== null && (counts.steps?.count ?? counts.sequences) === 0;
}

/**
 * Returns a job with the newest known progress: its own, that of the live summary, or the last step that was received.
 */
export function withLiveProgress<Job extends Pick<TrainingJob, "id" | "progress" | "phase">>(
  job: Job,
  running: ServerSummary["running_jobs"],
  receivedSteps = 0,
): Job {
  const live = running.find(({ id }) => id === job.id);
  const { progress, phase } = job;
  const total = live?.gradient_steps_total ?? progress?.gradient_steps_total ?? null;
  const steps = Math.max(live?.gradient_steps ?? 0, receivedSteps);
  if (total === null || progress === null || steps <= progress.gradient_steps) return job;
  return {
    ...job,
    phase: phase === "preparing" ? "training" : phase,
    progress: { ...progress, gradient_steps: steps, gradient_steps_total: total },
  };
}

/** Describes on one line how far a job is, why it waits, or why it failed. */
export function progressText(job: TrainingJob): string {
  if (job.error_message !== null) return job.error_message;
  if (job.waiting_for !== null) return `waiting: ${job.waiting_for}`;
  if (job.phase === null || job.progress === null) return "";
  const {
    prepared,
    prepared_total: preparedTotal,
    gradient_steps: steps,
    gradient_steps_total: total,
  } = job.progress;
  const left = job.seconds_left === null ? "" : `, ${durationText(job.seconds_left)} left`;
  if (job.phase === "training") return `step ${steps} of ${total ?? "?"}${left}`;
  if (job.phase === "publishing") return "publishing the new version";
  return preparedTotal === null ? "preparing" : `preparing ${prepared ?? 0} of ${preparedTotal}${left}`;
}
