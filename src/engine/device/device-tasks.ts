// What the process does in which a device is tried. A driver that crashes ends that process, and no engine.
import type { Device } from "../../domain/model.ts";
import type { TaskHandlers } from "../../processes/tasks.ts";
import { deviceFault } from "./compare-devices.ts";

export interface DeviceTasks {
  readonly try: {
    readonly task: { readonly device: Device; readonly modelFolder: string };
    readonly result: string | null;
  };
}

export function openTasks(): TaskHandlers<DeviceTasks> {
  return { try: ({ device, modelFolder }) => deviceFault(modelFolder, device) };
}
