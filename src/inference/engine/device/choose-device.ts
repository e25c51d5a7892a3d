// Chooses the compute device: the one that the operator asked for if it is usable, else the processor, with a reason.
import type { Device, DeviceChoice } from "../../../base/domain/model.ts";
import { inDeviceProcess } from "./device-process.ts";

/** A driver compiles kernels that are new to it, which may take long, and a broken one may hang. */
const trialMs = 120_000;
const memoryMebibytes = 1024;

/**
 * Tries the device in a separate process; the processor is not tried.
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
 * Computes on a device in a separate process: missing or crashing native code is also a result.
 *
 * @returns reason why it is unusable, for people; null if it is usable
 */
export async function tryDevice(device: Device, modelFolder: string): Promise<string | null> {
  try {
    return await inDeviceProcess("try", { device, modelFolder }, { deadlineMs: trialMs, memoryMebibytes });
  } catch (error) {
    return `the process that tried it did not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}
