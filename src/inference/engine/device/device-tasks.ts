// Entry point of a separate process that tries the machine's devices and kernels, so that a crashing driver ends only
// that process.
import type { KernelMeasurement, KernelRate } from "../../../base/domain/kernels/integer-kernels.ts";
import type { Device } from "../../../base/domain/model.ts";
import type { TaskHandlers } from "../../../base/processes/tasks.ts";
import { integerKernels, measureStreamedRates } from "../../onnx/integer-kernels.ts";
import { deviceFault } from "./compare-devices.ts";

export interface DeviceTasks {
  readonly try: {
    readonly task: { readonly device: Device; readonly modelFolder: string };
    readonly result: string | null;
  };
  readonly measureKernels: {
    readonly task: { readonly cacheFolder: string | null };
    readonly result: KernelMeasurement;
  };
  readonly measureStreamedRates: {
    readonly task: { readonly forms: readonly KernelRate["form"][]; readonly threads: number };
    readonly result: readonly KernelRate[];
  };
}

export function openTasks(): TaskHandlers<DeviceTasks> {
  return {
    try: ({ device, modelFolder }) => deviceFault(modelFolder, device),
    measureKernels: ({ cacheFolder }) => integerKernels(cacheFolder),
    measureStreamedRates: ({ forms, threads }) => measureStreamedRates(forms, threads),
  };
}
