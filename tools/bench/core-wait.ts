// Reads how long threads have waited for a processor core. Benchmarks subtract this time, which a busy machine causes.
import { readFileSync } from "node:fs";

/**
 * Returns how many milliseconds this thread and another process's main thread have waited for a core since they
 * started; 0 if the system does not report it.
 */
export function coreWaitMs(processId: number): number {
  const waitOf = (task: string): number =>
    Number(readFileSync(`/proc/${task}/schedstat`, "utf8").split(" ")[1]);
  try {
    return (waitOf("thread-self") + waitOf(`${processId}/task/${processId}`)) / 1e6;
  } catch {
    return 0;
  }
}
