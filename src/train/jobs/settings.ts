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
   * Number of consecutive attempts whose training process died without saving further steps, after which the job
   * fails. With the waits between them, this takes a quarter of an hour, longer than a memory shortage usually lasts.
   */
  attemptsMax: 20,
  /**
   * Number of servers that died in a row while running a job, without the job saving further steps, after which the
   * job fails. Attempts of which only the training process died do not count.
   */
  startsMax: 20,
  /**
   * Wait in milliseconds after the first attempt whose process died, or after the second attempt whose server died.
   * The wait doubles with each further such attempt.
   */
  backoffMs: 1000,
  /** Maximum wait in milliseconds. A job therefore notices within a minute that the machine can run it again. */
  backoffMsMax: 60_000,
  /** Maximum number of queued jobs. */
  queuedMax: 10_000,
  /** Maximum number of queued jobs for the models of one entity, so that one entity cannot fill the queue. */
  queuedPerEntityMax: 1000,
  /**
   * Number of a model's newest versions whose optimizer state is kept. New jobs start from the newest version; an
   * optimizer state takes twice the space of an adapter.
   */
  optimizerStatesKept: 1,
  /**
   * Maximum number of earlier jobs that a replay may repeat. It repeats them if the optimizer state from which its job
   * started is no longer stored.
   */
  replayJobsMax: 16,
  /** Length of a lease in milliseconds. A server that misses four heartbeats in a row loses its jobs. */
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
