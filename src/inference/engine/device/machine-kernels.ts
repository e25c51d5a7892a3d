// The kernels that this machine may use, for processes that load no native code.
import type { KernelMeasurement } from "../../../base/domain/kernels/integer-kernels.ts";
import { readKeptKernels } from "../../onnx/kept-kernels.ts";
import { inDeviceProcess } from "./device-process.ts";

/** A measurement takes less than a second; loading native code from a slow disk takes longer. */
const measureMs = 60_000;
const memoryMebibytes = 512;

/**
 * Returns what is kept of an earlier measurement, else measures as `integerKernels` of runtime/, in a process of its own.
 *
 * @param cacheFolder where the measurement is kept; null keeps nothing
 * @throws ServiceError what that process failed with
 */
export async function machineKernels(cacheFolder: string | null): Promise<KernelMeasurement> {
  const kept = cacheFolder === null ? null : readKeptKernels(cacheFolder);
  if (kept !== null) return kept;
  return inDeviceProcess("measureKernels", { cacheFolder }, { deadlineMs: measureMs, memoryMebibytes });
}
