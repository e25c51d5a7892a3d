// Chooses the compute device: the configured device if it is usable, else the CPU, with a reason.
import type { Device, DeviceChoice } from "../../../base/domain/model.ts";
import { inDeviceProcess } from "./device-process.ts";

/**
 * Time limit of a trial. A driver compiles kernels that are new to it, which may take long, and a broken driver may
 * hang.
 */
const trialMs = 120_000;
const memoryMebibytes = 1024;

/**
 * Tries the configured device in a separate process; the CPU needs no trial.
 *
 * @param modelFolder small model for the trial
 */
export async function chooseDevice(wanted: Device, modelFolder: string): Promise<DeviceChoice> {
  if (wanted === "cpu") return { device: "cpu", reason: "" };
  const fault = await tryDevice(wanted, modelFolder);
  return fault === null
    ? { device: wanted, reason: "" }
    : { device: "cpu", reason: `${wanted} cannot be used: ${fault}` };
}

/**
 * Computes on a device in a separate process, so that missing or crashing native code counts as a result.
 *
 * @returns reason why the device is unusable, for people; null if it is usable
 */
export async function tryDevice(device: Device, modelFolder: string): Promise<string | null> {
  try {
    return await inDeviceProcess("try", { device, modelFolder }, { deadlineMs: trialMs, memoryMebibytes });
  } catch (error) {
    return `the process that tried it did not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}
