// Which devices the runtime that is installed can compute on. That it can does not say that the machine has one.
import { listSupportedBackends } from "onnxruntime-node";
import type { Device } from "../../base/domain/model.ts";

export function canComputeOn(device: Device): boolean {
  return listSupportedBackends().some(({ name, bundled }) => name === device && bundled);
}
