// Estimates a model's speed from measured rates of matrix products.
import type { KernelRate } from "../../../base/domain/kernels/integer-kernels.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import { modelParameters } from "../../../inference/architectures/parameters.ts";
import {
  promptForms,
  weightUseFor,
  type WeightForm,
  type WeightForms,
} from "../../../inference/architectures/quantized/weight-forms.ts";

/** Number of concurrent requests for which memory and speed are estimated. */
export const requestCount = 8;

/** Estimated speed, in tokens per second. */
export interface FitSpeed {
  /** Decoded tokens of a single request. */
  readonly one: number;
  /** Decoded tokens of {@link requestCount} concurrent requests together. */
  readonly several: number;
  readonly prompt: number;
}

/** Estimates the speed. Counts only products with weights: they take most of the time unless a context is long. */
export function speedOf(config: ModelConfig, forms: WeightForms, rates: readonly KernelRate[]): FitSpeed {
  const rowsPerSecond = (rows: number, used: WeightForms): number => {
    const seconds = modelParameters(config)
      .filter(({ name, shape }) => shape.length === 2 && weightUseFor(name, config).isMultiplied)
      .map(
        ({ name, shape }) =>
          (2 * rows * shape[0] * shape[1]) / rateOf(rates, used.get(name) ?? "float32", rows),
      )
      .reduce((sum, each) => sum + each, 0);
    return rows / seconds;
  };
  return {
    one: rowsPerSecond(1, forms),
    several: rowsPerSecond(requestCount, forms),
    prompt: rowsPerSecond(128, promptForms(forms)),
  };
}

/** Returns the rate at which this machine multiplies rows by weights of a form, in operations per second. */
function rateOf(rates: readonly KernelRate[], form: WeightForm, rows: number): number {
  const kernel = form === "int4-offset" ? "int4" : form;
  const found = rates.find((rate) => rate.form === kernel && rate.rows === rows);
  return 1e9 * (found?.gigaOps ?? Number.NaN);
}
