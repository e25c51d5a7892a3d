// The time that threads wait for a core, which a measurement of a busy machine subtracts.
import { readFileSync } from "node:fs";

/** Milliseconds that this thread and the main thread of a process have waited since they began; 0 if the system does not say. */
export function coreWaitMs(processId: number): number {
  const waitOf = (task: string): number =>
    Number(readFileSync(`/proc/${task}/schedstat`, "utf8").split(" ")[1]);
  try {
    return (waitOf("thread-self") + waitOf(`${processId}/task/${processId}`)) / 1e6;
  } catch {
    return 0;
  }
}
