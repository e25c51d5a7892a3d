// Sums, means and deviations of rewards and metrics, which may be as great as numbers get: no result is infinite, and
// where nothing overflows it is that of the plain formula.
import { clamped } from "../../base/domain/summaries/outline-group.ts";

/** @param values at least one, all finite */
export function mean(values: readonly number[]): number {
  const result = values.reduce((sum, value) => sum + value, 0) / values.length;
  // Sums of numbers near the greatest there is overflow where their mean does not.
  return Number.isFinite(result)
    ? result
    : clamped(values.reduce((sum, value) => sum + value / values.length, 0));
}

/**
 * The population standard deviation.
 *
 * @param values at least one, all finite
 */
export function standardDeviation(values: readonly number[]): number {
  const center = mean(values);
  const deviations = values.map((value) => clamped(Math.abs(value - center)));
  const greatest = deviations.reduce((one, other) => Math.max(one, other), 0);
  // Squares of great numbers overflow, those of their parts of the greatest do not.
  if (greatest > 1e150) return greatest * Math.sqrt(mean(deviations.map((each) => (each / greatest) ** 2)));
  return Math.sqrt(mean(deviations.map((each) => each ** 2)));
}
