// Computes the status of an automatic training rule, and when its next job may start. Pure functions.
import type {
  AutomaticJob,
  AutomaticOrder,
  AutomaticProgress,
} from "../../../base/domain/rewards/stored-rule.ts";

export interface AutomaticState {
  /** Status of the rule; `ready` means that a server will create the next job in its next round. */
  readonly kind: "paused" | "collecting" | "training" | "waiting" | "ready";
  /** Human-readable reason for the rule's status. */
  readonly reason: string;
  /** Earliest time at which the rule's next job can start; null if unknown. */
  readonly nextJobAt: Date | null;
  /**
   * Number of the rule's jobs in the last 24 hours. `tokenCount` is the number of tokens that these jobs trained on.
   */
  readonly jobCount: number;
  readonly tokenCount: number;
}

export const dayMs = 24 * 3600 * 1000;

export interface AutomaticFacts {
  readonly order: AutomaticOrder;
  readonly isPaused: boolean;
  readonly progress: AutomaticProgress;
  /** True if the rule's newest job is still queued or running. */
  readonly isTraining: boolean;
  readonly now: Date;
}

export function automaticState({
  order,
  isPaused,
  progress,
  isTraining,
  now,
}: AutomaticFacts): AutomaticState {
  const { jobs, readyCount, fault } = progress;
  const tokenCount = jobs.reduce((sum, job) => sum + job.tokenCount, 0);
  const earliest = earliestJob(order, progress);
  const nextJobAt = earliest !== null && earliest > now ? earliest : null;
  const counted = { jobCount: jobs.length, tokenCount };
  const stateOf = (kind: AutomaticState["kind"], reason: string): AutomaticState => {
    const why = fault === null ? reason : `${reason} The last time something was in the way: ${fault}`;
    return { kind, reason: why, nextJobAt: kind === "paused" ? null : nextJobAt, ...counted };
  };
  if (isPaused) return stateOf("paused", "It is paused, and makes no jobs until it is resumed.");
  if (isTraining) return stateOf("training", "Its last job has not ended.");
  if (readyCount < order.groupsMin) return stateOf("collecting", collectReason(order, progress));
  if (nextJobAt !== null) return stateOf("waiting", waitReason(order, progress, nextJobAt));
  return stateOf("ready", "Its next job comes with the next look.");
}

function collectReason(
  { groupsMin, rollouts }: AutomaticOrder,
  { readyCount, unreadyCount }: AutomaticProgress,
): string {
  const ready = `${readyCount} of ${groupsMin} groups`;
  if (rollouts === null) return `${ready} have answers of differing rewards with new feedback.`;
  const others = `${unreadyCount} more have open rollouts or fewer than ${rollouts.groupSizeMin} finished ones`;
  return unreadyCount === 0 ? `${ready} are whole.` : `${ready} are whole; ${others}.`;
}

/** Returns the earliest time at which the rule's limits allow another job; null if they allow one now. */
function earliestJob(order: AutomaticOrder, progress: AutomaticProgress): Date | null {
  const times = [
    afterLast(order, progress),
    afterJobs(order, progress.jobs),
    afterTokens(order, progress.jobs),
  ];
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : new Date(Math.max(...known));
}

function afterLast({ secondsBetween }: AutomaticOrder, { lastJob }: AutomaticProgress): number | null {
  return lastJob === null ? null : lastJob.createdAt.getTime() + secondsBetween * 1000;
}

/**
 * Returns the time at which the daily limit on jobs allows another one; null if it allows one now.
 *
 * @param jobs jobs of the last day, newest first
 */
function afterJobs({ jobsPerDay }: AutomaticOrder, jobs: readonly AutomaticJob[]): number | null {
  const job = jobs.length < jobsPerDay ? undefined : jobs[jobsPerDay - 1];
  return job === undefined ? null : job.createdAt.getTime() + dayMs;
}

function afterTokens({ tokensPerDay }: AutomaticOrder, jobs: readonly AutomaticJob[]): number | null {
  let tokenCount = 0;
  for (const job of jobs) {
    tokenCount += job.tokenCount;
    if (tokensPerDay !== null && tokenCount >= tokensPerDay) return job.createdAt.getTime() + dayMs;
  }
  return null;
}

function waitReason(order: AutomaticOrder, progress: AutomaticProgress, next: Date): string {
  const at = next.getTime();
  if (at === afterTokens(order, progress.jobs))
    return `Its jobs of the last 24 hours have the ${order.tokensPerDay} tokens that they may (tokens_per_day).`;
  if (at === afterJobs(order, progress.jobs))
    return `It made ${order.jobsPerDay} jobs in the last 24 hours, as many as it may (jobs_per_day).`;
  return `Its last job is not yet ${order.secondsBetween} s ago (seconds_between).`;
}
