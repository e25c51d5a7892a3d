// Settings of the job queue: the operator's one number, and constants shared by all servers.
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
   * Number of consecutive attempts that may be lost with their training process, without saving further steps, before
   * a job fails. With the waits this takes a quarter of an hour, longer than a memory shortage usually lasts.
   */
  attemptsMax: 20,
  /** Number of servers that may die in a row while a job runs, counted likewise. Lost training processes do not count. */
  startsMax: 20,
  /**
   * Wait in milliseconds after the first lost attempt, and after the second that died with its server. Doubles each
   * time.
   */
  backoffMs: 1000,
  /** Maximum wait in milliseconds; a machine that has recovered is used again within a minute. */
  backoffMsMax: 60_000,
  /** Maximum number of queued jobs. */
  queuedMax: 10_000,
  /** Maximum number of queued jobs of one entity's models, so that one entity cannot fill the queue. */
  queuedPerEntityMax: 1000,
  /**
   * Number of newest versions of a model whose optimizer state is kept, which takes twice the space of an adapter.
   * Jobs start there.
   */
  optimizerStatesKept: 1,
  /**
   * Maximum number of earlier jobs that a replay repeats if the optimizer state that its job continued from is no
   * longer stored.
   */
  replayJobsMax: 16,
  /** Length of a lease in milliseconds: a server that misses four heartbeats loses its jobs. */
  leaseMs: 60_000,
  /** Polling interval in milliseconds for changes of the queue by other processes. */
  pollMs: 1000,
  /** Polling interval in milliseconds for a stream of a job's events. */
  eventPollMs: 1000,
};

export const jobSettings = section(schema, fixed);

export type JobSettings = SettingsIn<typeof jobSettings>;

/** Returns the time in milliseconds after which a server with an expired lease has surely stopped all its work. */
export function goneMs({ leaseMs }: Pick<JobSettings, "leaseMs">): number {
  return 5 * leaseMs;
}

/** Returns the interval in milliseconds at which a server renews its lease and looks for changes by others. */
export function heartbeatMs({ leaseMs }: Pick<JobSettings, "leaseMs">): number {
  return leaseMs / 4;
}
