// Settings of the job queue: one for the operator, and constants that all servers share.
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
   * Maximum number of consecutive attempts lost with their training process without saving further steps, before the
   * job fails. With the waits, this takes a quarter of an hour, longer than a memory shortage usually lasts.
   */
  attemptsMax: 20,
  /**
   * Maximum number of servers that die in a row while running a job without saving further steps. Lost training
   * processes do not count.
   */
  startsMax: 20,
  /**
   * Wait in milliseconds after the first attempt lost with its process, or after the second lost with its server.
   * Doubles each time.
   */
  backoffMs: 1000,
  /** Maximum wait in milliseconds: a job notices within a minute that its machine has recovered. */
  backoffMsMax: 60_000,
  /** Maximum number of queued jobs. */
  queuedMax: 10_000,
  /** Maximum number of queued jobs for the models of one entity, so that one entity cannot fill the queue. */
  queuedPerEntityMax: 1000,
  /**
   * Number of a model's newest versions whose optimizer state is kept. New jobs start from these versions; a state
   * takes twice the space of an adapter.
   */
  optimizerStatesKept: 1,
  /**
   * Maximum number of earlier jobs that a replay repeats when the optimizer state from which its job continued is no
   * longer stored.
   */
  replayJobsMax: 16,
  /** Length of a lease in milliseconds. A server that misses four heartbeats loses its jobs. */
  leaseMs: 60_000,
  /** Interval in milliseconds at which the queue polls for changes by other processes. */
  pollMs: 1000,
  /** Interval in milliseconds at which a job's event stream polls. */
  eventPollMs: 1000,
};

export const jobSettings = section(schema, fixed);

export type JobSettings = SettingsIn<typeof jobSettings>;

/** Returns the time in milliseconds after which a server whose lease expired has certainly stopped all its work. */
export function goneMs({ leaseMs }: Pick<JobSettings, "leaseMs">): number {
  return 5 * leaseMs;
}

/** Returns the interval in milliseconds at which a server renews its lease and polls for other servers' changes. */
export function heartbeatMs({ leaseMs }: Pick<JobSettings, "leaseMs">): number {
  return leaseMs / 4;
}
