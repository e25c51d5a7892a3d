// The time that threads wait for a core, which measurements on a busy machine subtract.
import { readFileSync } from "node:fs";

/**
 * Returns the milliseconds that this thread and a process's main thread have waited since they started; 0 if the
 * system does not say.
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
