// The kernels that this machine may use, for processes that load no native code.
import type { KernelMeasurement } from "../../domain/kernels/integer-kernels.ts";
import { WorkerPool } from "../../processes/worker-pool.ts";
import type { DeviceTasks } from "./device-tasks.ts";

/** A measurement takes less than a second; loading native code from a slow disk takes longer. */
const measureMs = 60_000;
const memoryMebibytes = 512;

/**
 * As `integerKernels` of runtime/, in a process of its own.
 *
 * @param cacheFolder where the measurement is kept; null keeps nothing
 * @throws ServiceError what that process failed with
 */
export async function machineKernels(cacheFolder: string | null): Promise<KernelMeasurement> {
  const pool = new WorkerPool<DeviceTasks>({
    module: new URL("./device-tasks.js", import.meta.url),
    workerCount: 1,
    isProcess: true,
    stageMs: [measureMs],
    memoryMebibytes,
  });
  try {
    return await pool.run("measureKernels", { cacheFolder });
  } finally {
    await pool.close();
  }
}
