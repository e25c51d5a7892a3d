// The settings of the job queue: the one number that an operator sets, and what is the same on every server.
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
   * Attempts that may be lost with their training process, one after the other and without keeping further steps, before a
   * job fails. With the waits between them that takes a quarter of an hour: longer than a machine is short of memory.
   */
  attemptsMax: 20,
  /** Servers that may die while a job runs, counted likewise. Lost training processes are not among them. */
  startsMax: 20,
  /** Milliseconds after the first lost attempt, and after the second that died with its server. Doubles with each. */
  backoffMs: 1000,
  /** Milliseconds; a machine that has recovered is noticed within a minute. */
  backoffMsMax: 60_000,
  /** Jobs that wait in the queue; a page of it is read at a time, so that more would only wait longer. */
  queuedMax: 10_000,
  /** Of them, those of one entity's models: what one of them sends does not fill the queue for the others. */
  queuedPerEntityMax: 1000,
  /** Newest versions of a model whose optimizer's state is kept, which takes twice an adapter's room. Jobs start there. */
  optimizerStatesKept: 1,
  /** Earlier jobs that a replay may repeat too, where the optimizer that its job went on with is not kept any more. */
  replayJobsMax: 16,
  /** Milliseconds that a server which is not heard from keeps the jobs that it runs: four missed heartbeats. */
  leaseMs: 60_000,
  /** Milliseconds between two looks at what other processes stored in the queue. */
  pollMs: 1000,
  /** The same for a stream of a job's events. */
  eventPollMs: 1000,
};

export const jobSettings = section(schema, fixed);

export type JobSettings = SettingsIn<typeof jobSettings>;

/** After so long, in milliseconds, a server whose lease ran out is not at anything any more that it began with it. */
export function goneMs({ leaseMs }: Pick<JobSettings, "leaseMs">): number {
  return 5 * leaseMs;
}

/** How often a server renews its lease, and looks for what others left and did, in milliseconds. */
export function heartbeatMs({ leaseMs }: Pick<JobSettings, "leaseMs">): number {
  return leaseMs / 4;
}
