// Runs one task in a separate process that may load native code and drivers. A crash there affects neither engines nor
// servers.
import { WorkerPool } from "../../../base/processes/worker-pool.ts";
import type { DeviceTasks } from "./device-tasks.ts";

/**
 * Starts a process, runs the task in it, then ends the process.
 *
 * @throws ServiceError the errors of the task; if the process does not answer, the errors of `WorkerPool.run`
 */
export async function inDeviceProcess<Kind extends keyof DeviceTasks>(
  kind: Kind,
  task: DeviceTasks[Kind]["task"],
  { deadlineMs, memoryMebibytes }: { readonly deadlineMs: number; readonly memoryMebibytes: number },
): Promise<DeviceTasks[Kind]["result"]> {
  const pool = new WorkerPool<DeviceTasks>({
    module: new URL("./device-tasks.js", import.meta.url),
    workerCount: 1,
    isProcess: true,
    stageMs: [deadlineMs],
    memoryMebibytes,
  });
  try {
    return await pool.run(kind, task);
  } finally {
    await pool.close();
  }
}
