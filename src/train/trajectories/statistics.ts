// Sums, means and deviations of rewards and metrics, safe for values near the limits of doubles. Results are always
// finite, and equal those of the plain formula if nothing overflows.
import { clamped } from "../../base/domain/summaries/outline-group.ts";

/**
 * Returns the mean of the values.
 *
 * @param values at least one, all finite
 */
export function mean(values: readonly number[]): number {
  const result = values.reduce((sum, value) => sum + value, 0) / values.length;
  // The sum of values near the largest double overflows, although their mean does not.
  return Number.isFinite(result)
    ? result
    : clamped(values.reduce((sum, value) => sum + value / values.length, 0));
}

/**
 * Returns the population standard deviation.
 *
 * @param values at least one, all finite
 */
export function standardDeviation(values: readonly number[]): number {
  const center = mean(values);
  const deviations = values.map((value) => clamped(Math.abs(value - center)));
  const greatest = deviations.reduce((one, other) => Math.max(one, other), 0);
  // The squares of very large numbers overflow, but the squares of their ratios to the largest number do not.
  if (greatest > 1e150) return greatest * Math.sqrt(mean(deviations.map((each) => (each / greatest) ** 2)));
  return Math.sqrt(mean(deviations.map((each) => each ** 2)));
}
