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
import { elementCount } from "../../../lib/graph/tensor.ts";

/** Number of concurrent requests for which memory and speed are estimated. */
export const requestCount = 8;

/** Estimated speed, in tokens per second. */
export interface FitSpeed {
  /** Tokens per second that a single request generates. */
  readonly one: number;
  /** Tokens per second that {@link requestCount} concurrent requests generate together. */
  readonly several: number;
  readonly prompt: number;
}

/** Estimates the speed. Counts only products with weights: they take most of the time unless a context is long. */
export function speedOf(config: ModelConfig, forms: WeightForms, rates: readonly KernelRate[]): FitSpeed {
  const weights = modelParameters(config).filter(
    ({ name, shape }) => shape.length > 1 && weightUseFor(name, config).isMultiplied,
  );
  const rowsPerSecond = (rows: number, used: WeightForms): number => {
    const seconds = weights.map(({ name, shape }) => {
      const form = used.get(name) ?? "float32";
      const matrixSize = elementCount(shape.slice(-2));
      const { rowCount, rowsTogether } = rowsOf(config, shape, rows);
      return (2 * rowCount * matrixSize) / rateOf(rates, form, rowsTogether);
    });
    return rows / seconds.reduce((sum, each) => sum + each, 0);
  };
  return {
    one: rowsPerSecond(1, forms),
    several: rowsPerSecond(requestCount, forms),
    prompt: rowsPerSecond(promptRowCount, promptForms(forms)),
  };
}

/** Number of prompt rows per multiplication. The kernels' speed was measured with this number. */
const promptRowCount = 128;

/**
 * Returns the number of rows that are multiplied with a weight in total, and the number of rows that share one
 * multiplication. In a mixture of experts, the weight consists of E matrices [N, K], and each row is multiplied with
 * only a few of them. So only a few rows share a matrix.
 */
function rowsOf(
  { experts }: ModelConfig,
  shape: readonly number[],
  rows: number,
): { readonly rowCount: number; readonly rowsTogether: number } {
  if (shape.length < 3 || experts === null) return { rowCount: rows, rowsTogether: rows };
  const rowCount = rows * experts.activeCount;
  return { rowCount, rowsTogether: rowCount / experts.count < requestCount ? 1 : requestCount };
}

/** Returns the rate at which this machine multiplies rows by weights of a form, in operations per second. */
function rateOf(rates: readonly KernelRate[], form: WeightForm, rows: number): number {
  const kernel = form === "int4-offset" ? "int4" : form;
  const found = rates.find((rate) => rate.form === kernel && rate.rows === rows);
  return 1e9 * (found?.gigaOps ?? Number.NaN);
}
