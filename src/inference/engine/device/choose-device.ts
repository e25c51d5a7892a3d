// Chooses the compute device: the configured device if it is usable; otherwise the CPU, with the reason for the
// fallback.
import type { Device, DeviceChoice } from "../../../base/domain/model.ts";
import { inDeviceProcess } from "./device-process.ts";

/**
 * Time limit of a trial in milliseconds. A driver may take long to compile kernels for the first time, and a broken
 * driver may hang.
 */
const trialMs = 120_000;
const memoryMebibytes = 1024;

/**
 * Chooses the configured device if a trial in a separate process succeeds, else the CPU. The CPU needs no trial.
 *
 * @param modelFolder folder of a small model for the trial
 */
export async function chooseDevice(wanted: Device, modelFolder: string): Promise<DeviceChoice> {
  if (wanted === "cpu") return { device: "cpu", reason: "" };
  const fault = await tryDevice(wanted, modelFolder);
  return fault === null
    ? { device: wanted, reason: "" }
    : { device: "cpu", reason: `${wanted} cannot be used: ${fault}` };
}

/**
 * Tries a computation on a device in a separate process. A device whose native code is missing or crashes counts as
 * unusable.
 *
 * @returns the reason why the device is unusable, as a text for the operator; null if it is usable
 */
export async function tryDevice(device: Device, modelFolder: string): Promise<string | null> {
  try {
    return await inDeviceProcess("try", { device, modelFolder }, { deadlineMs: trialMs, memoryMebibytes });
  } catch (error) {
    return `the process that tried it did not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}
