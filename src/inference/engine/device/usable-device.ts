// Where engines compute: on the device that the operator asked for where that can be used, else on the processor, with why.
import type { Device, DeviceChoice } from "../../../base/domain/model.ts";
import { inDeviceProcess } from "./device-process.ts";

/** A driver compiles what is new to it, which may take long, and a broken one never ends. */
const trialMs = 120_000;
const memoryMebibytes = 1024;

/**
 * Tries the device in a process of its own; the processor is not tried.
 *
 * @param modelFolder of the small model with which it is tried
 */
export async function usableDevice(wanted: Device, modelFolder: string): Promise<DeviceChoice> {
  if (wanted === "cpu") return { device: "cpu", reason: "" };
  const fault = await triedDevice(wanted, modelFolder);
  return fault === null
    ? { device: wanted, reason: "" }
    : { device: "cpu", reason: `${wanted} cannot be used: ${fault}` };
}

/**
 * Computes on a device, in a process of its own: native code that is missing or crashes is an answer, too.
 *
 * @returns why it cannot be used, for people; null where it can
 */
export async function triedDevice(device: Device, modelFolder: string): Promise<string | null> {
  try {
    return await inDeviceProcess("try", { device, modelFolder }, { deadlineMs: trialMs, memoryMebibytes });
  } catch (error) {
    return `the process that tried it did not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}
