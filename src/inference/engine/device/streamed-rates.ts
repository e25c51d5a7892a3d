// Measures how fast this machine multiplies by weights that no processor cache holds, so that it must read them from
// main memory. The calling process loads no native code.
import type { KernelMeasurement, KernelRate } from "../../../base/domain/kernels/integer-kernels.ts";
import { inDeviceProcess } from "./device-process.ts";

/** Time limit. A measurement takes a few seconds, most of them for creating the matrices. */
const measureMs = 120_000;
const memoryMebibytes = 2048;

/**
 * Returns how fast this machine multiplies by float32 weights, and by weights in every form that its kernels compute
 * exactly.
 */
export async function streamedRates(
  { rates }: Pick<KernelMeasurement, "rates">,
  threads: number,
): Promise<readonly KernelRate[]> {
  const forms = [...new Set(rates.map(({ form }) => form))];
  const limits = { deadlineMs: measureMs, memoryMebibytes };
  return inDeviceProcess("measureStreamedRates", { forms, threads }, limits);
}
