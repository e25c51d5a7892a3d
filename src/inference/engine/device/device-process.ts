// One task in a process of its own that may load native code and drivers: if it crashes, no engine and no server does.
import { WorkerPool } from "../../../base/processes/worker-pool.ts";
import type { DeviceTasks } from "./device-tasks.ts";

/**
 * Runs the task, and ends the process.
 *
 * @throws ServiceError what the task threw, and as `WorkerPool.run` if the process does not answer
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
