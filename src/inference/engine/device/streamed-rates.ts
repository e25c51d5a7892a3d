// Measures how fast this machine multiplies by weights that no cache holds, for processes that load no native code.
import type { KernelMeasurement, KernelRate } from "../../../base/domain/kernels/integer-kernels.ts";
import { inDeviceProcess } from "./device-process.ts";

/** Time limit. A measurement takes a few seconds, most of them for creating the matrices. */
const measureMs = 120_000;
const memoryMebibytes = 2048;

/** Returns the rates of float32 and of every form that the kernels of this machine compute exactly. */
export async function streamedRates(
  { rates }: Pick<KernelMeasurement, "rates">,
  threads: number,
): Promise<readonly KernelRate[]> {
  const forms = [...new Set(rates.map(({ form }) => form))];
  const limits = { deadlineMs: measureMs, memoryMebibytes };
  return inDeviceProcess("measureStreamedRates", { forms, threads }, limits);
}
