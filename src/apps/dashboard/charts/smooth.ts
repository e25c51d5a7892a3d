// Smooths a line with an exponential moving average.

/**
 * Returns the moving average of the values. It corrects the bias towards zero at the start, as TensorBoard does.
 *
 * @param weight weight of the past in [0, 1); 0 changes nothing
 */
export function smoothed(values: readonly number[], weight: number): readonly number[] {
  let sum = 0;
  return values.map((value, index) => {
    sum = weight * sum + (1 - weight) * value;
    return sum / (1 - weight ** (index + 1));
  });
}
