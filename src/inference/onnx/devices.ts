// Lists the compute devices that the installed runtime supports, whether or not the machine has them.
import { listSupportedBackends } from "onnxruntime-node";
import type { Device } from "../../base/domain/model.ts";

export function canComputeOn(device: Device): boolean {
  return listSupportedBackends().some(({ name, bundled }) => name === device && bundled);
}
