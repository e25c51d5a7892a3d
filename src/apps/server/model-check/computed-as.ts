// Returns the name of the precision in which this machine computes a model. Reads only the model's small files.
import type { IntegerKernels } from "../../../base/domain/kernels/integer-kernels.ts";
import type { Quantization } from "../../../base/domain/model.ts";
import { readModelConfig } from "../../../inference/architectures/config/read-config.ts";
import { readPrecision } from "../../../inference/architectures/weights.ts";

/** Returns `float32`, or the name of the precision that the weights are quantized to. */
export function computedAs(folder: string, quantization: Quantization, kernels: IntegerKernels): string {
  return readPrecision(folder, readModelConfig(folder), { quantization, kernels }) ?? "float32";
}
