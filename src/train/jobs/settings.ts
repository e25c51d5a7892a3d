// Settings of the job queue: one setting for the operator, and constants that all servers share.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  concurrency: {
    kind: "integer",
    default: 1,
    min: 1,
    max: 64,
    about: "Maximum number of concurrent training jobs; jobs of the same model never run concurrently.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /**
   * Number of consecutive attempts after which a job fails if each attempt's training process died without saving more
   * steps. So many attempts take a quarter of an hour with the waits between them, longer than most memory shortages
   * last.
   */
  attemptsMax: 20,
  /**
   * Number of servers that may die in a row while running a job that saves no more steps; then the job fails. If only
   * the training process dies, `attemptsMax` applies instead.
   */
  startsMax: 20,
  /**
   * Wait in milliseconds before a job is retried: after the first training process that died, or the second server that
   * died. Each further death doubles the wait.
   */
  backoffMs: 1000,
  /**
   * Maximum wait in milliseconds before a retry. A job therefore notices within a minute that the machine can run it
   * again.
   */
  backoffMsMax: 60_000,
  /** Maximum number of jobs in the queue. */
  queuedMax: 10_000,
  /** Maximum number of queued jobs for the models of one entity. It keeps a single entity from filling the queue. */
  queuedPerEntityMax: 1000,
  /**
   * Number of each model's newest versions that keep their optimizer state. One suffices for new jobs, which start from
   * the newest version. An optimizer state takes twice the space of an adapter.
   */
  optimizerStatesKept: 1,
  /**
   * Maximum number of earlier jobs that a replay may repeat first. It repeats them if the optimizer state from which
   * its own job started is no longer stored.
   */
  replayJobsMax: 16,
  /** Length of a server's lease in milliseconds. A server that misses four heartbeats in a row loses its jobs. */
  leaseMs: 60_000,
  /** Interval in milliseconds at which the queue polls the store for changes by other processes. */
  pollMs: 1000,
  /** Interval in milliseconds at which the event stream of a job polls the store. */
  eventPollMs: 1000,
};

export const jobSettings = section(schema, fixed);

export type JobSettings = SettingsIn<typeof jobSettings>;

/** Returns how many milliseconds after its lease's end a server has certainly stopped all work. */
export function goneMs({ leaseMs }: Pick<JobSettings, "leaseMs">): number {
  return 5 * leaseMs;
}

/** Returns the interval in milliseconds at which a server renews its lease and polls for other servers' changes. */
export function heartbeatMs({ leaseMs }: Pick<JobSettings, "leaseMs">): number {
  return leaseMs / 4;
}
