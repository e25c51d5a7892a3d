// Checks that training jobs make progress. Reports why jobs wait, and why this server cannot claim jobs.
import type { Clock } from "../../../base/domain/clock.ts";
import type { JobStore } from "../../../base/domain/job.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { JobQueue } from "../../../train/jobs/job-queue.ts";
import { cacheResult } from "./cache-result.ts";

/** Lifetime of a result in milliseconds. */
const holdsMs = 1000;

export interface QueueCheckDependencies {
  readonly jobs: Pick<JobStore, "countWaiting">;
  readonly jobQueue: Pick<JobQueue, "status">;
  readonly clock: Clock;
}

/**
 * Returns a check. It rejects with the reasons why jobs wait, unless they only wait for their turn. The error does not
 * name the jobs' owners.
 */
export function createQueueCheck(dependencies: QueueCheckDependencies): () => Promise<void> {
  return cacheResult(() => check(dependencies), holdsMs, dependencies.clock);
}

async function check({ jobs, jobQueue }: QueueCheckDependencies): Promise<void> {
  const { claimFault } = jobQueue.status();
  const waiting = await jobs.countWaiting();
  const faults = waiting.map(
    ({ waitingFor, count }) => `${count} training ${count === 1 ? "job waits" : "jobs wait"}: ${waitingFor}`,
  );
  if (claimFault !== null) faults.unshift(`No training job can be claimed: ${claimFault}`);
  if (faults.length > 0) throw new ServiceError({ code: "unavailable", message: faults.join(" ") });
}
