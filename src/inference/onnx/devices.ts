// Devices that the installed runtime can compute on. The machine need not have one.
import { listSupportedBackends } from "onnxruntime-node";
import type { Device } from "../../base/domain/model.ts";

export function canComputeOn(device: Device): boolean {
  return listSupportedBackends().some(({ name, bundled }) => name === device && bundled);
}
