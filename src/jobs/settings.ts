// The settings of the job queue.
import type { SettingsOf, SettingsSchema } from "../domain/settings.ts";

export const jobSettings = {
  concurrency: {
    kind: "integer",
    default: 1,
    min: 1,
    max: 64,
    about: "Training jobs that run at the same time; those of one model never do.",
  },
  attemptsMax: {
    kind: "integer",
    default: 20,
    min: 1,
    max: 1000,
    about:
      "How many attempts at a job may be lost with their training process, one after the other and without keeping further steps, before it fails, which takes a quarter of an hour by the waits between them; restarts of the server are not counted.",
  },
  startsMax: {
    kind: "integer",
    default: 20,
    min: 1,
    max: 1000,
    about:
      "How many servers may die while a job runs, one after the other and without it keeping further steps, before it fails; lost training processes are not counted.",
  },
  backoffMs: {
    kind: "integer",
    default: 1000,
    min: 0,
    max: 3_600_000,
    about:
      "Wait after the first attempt that was lost or found the disk full, and after the second that died with its server, in milliseconds; it doubles with each.",
  },
  backoffMsMax: {
    kind: "integer",
    default: 60_000,
    min: 0,
    max: 3_600_000,
    about: "Longest wait between attempts, in milliseconds.",
  },
  queuedMax: {
    kind: "integer",
    default: 10_000,
    min: 1,
    max: 10_000_000,
    about: "Jobs that may wait in the queue; more are refused until some have ended.",
  },
  queuedPerEntityMax: {
    kind: "integer",
    default: 1000,
    min: 1,
    max: 10_000_000,
    about:
      "Of them, those of one entity's models: what one of them sends does not fill the queue for the others.",
  },
  optimizerStatesKept: {
    kind: "integer",
    default: 1,
    min: 1,
    max: 1_000_000,
    about:
      "Of how many of a model's newest versions the optimizer's state is kept, which takes twice an adapter's room; jobs start from the newest.",
  },
  replayJobsMax: {
    kind: "integer",
    default: 16,
    min: 0,
    max: 10_000,
    about:
      "How many earlier jobs a replay may repeat too, where the optimizer that its job went on with is not kept any more.",
  },
  leaseMs: {
    kind: "integer",
    default: 60_000,
    min: 1000,
    max: 3_600_000,
    about: "How long a server that is not heard from keeps the jobs that it runs, in milliseconds.",
  },
  pollMs: {
    kind: "integer",
    default: 1000,
    min: 10,
    max: 60_000,
    about: "How often the queue looks for jobs that another process stored, in milliseconds.",
  },
  eventPollMs: {
    kind: "integer",
    default: 1000,
    min: 10,
    max: 60_000,
    about: "How often a stream looks for events that another process stored, in milliseconds.",
  },
} as const satisfies SettingsSchema;

export type JobSettings = SettingsOf<typeof jobSettings>;

/** How often a server renews its lease, and looks for what others left and did, in milliseconds. */
export function heartbeatMs({ leaseMs }: Pick<JobSettings, "leaseMs">): number {
  return leaseMs / 4;
}
