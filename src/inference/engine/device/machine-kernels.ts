// Returns the kernels that may be used on this machine. The calling process loads no native code; a separate process
// measures the kernels.
import type { KernelMeasurement } from "../../../base/domain/kernels/integer-kernels.ts";
import { readSavedKernels } from "../../onnx/saved-kernels.ts";
import { inDeviceProcess } from "./device-process.ts";

/**
 * Time limit in milliseconds. A measurement takes less than a second, but loading native code from a slow disk takes
 * longer.
 */
const measureMs = 60_000;
const memoryMebibytes = 512;

/**
 * Returns the saved measurement of the kernels. If none is saved, measures in a separate process, with `integerKernels`
 * of onnx/.
 *
 * @param cacheFolder folder of the saved measurement; if null, the measurement is neither read nor saved
 * @throws ServiceError the error of the separate process
 */
export async function machineKernels(cacheFolder: string | null): Promise<KernelMeasurement> {
  const kept = cacheFolder === null ? null : readSavedKernels(cacheFolder);
  if (kept !== null) return kept;
  return inDeviceProcess("measureKernels", { cacheFolder }, { deadlineMs: measureMs, memoryMebibytes });
}
