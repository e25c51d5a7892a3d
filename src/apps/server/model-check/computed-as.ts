// In which precision a model is computed on this machine, in words; reads its small files alone.
import type { IntegerKernels } from "../../../base/domain/kernels/integer-kernels.ts";
import type { Quantization } from "../../../base/domain/model.ts";
import { readModelConfig } from "../../../inference/architectures/config/read-config.ts";
import { readPrecision } from "../../../inference/architectures/weights.ts";

/** Returns `float32`, or the name of the precision that the model's weights are rounded to. */
export function computedAs(folder: string, quantization: Quantization, kernels: IntegerKernels): string {
  return readPrecision(folder, readModelConfig(folder), { quantization, kernels }) ?? "float32";
}
