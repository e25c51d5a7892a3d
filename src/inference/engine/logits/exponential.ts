// exp over whole rows of scores, several times faster than Math.exp and as good: a distance of d from the greatest score
// gives a relative error of about d rounding errors.
// 2^(whole) and 2^(part / 256) come from tables, the small rest from the series.

const partsPerPower = 256;
const rest = Math.LN2 / partsPerPower;
const partsPerUnit = partsPerPower / Math.LN2;
/** 2^-n down to the least number that float64 knows. */
const wholePowers = Float64Array.from({ length: 1076 }, (_, exponent) => 2 ** -exponent);
const partPowers = Float64Array.from({ length: partsPerPower }, (_, part) => 2 ** (-part / partsPerPower));

/** exp(-distance); 0 beyond what float64 knows, NaN of what is not a number. */
export function exponentialOf(distance: number): number {
  if (distance >= 745) return 0;
  const parts = (distance * partsPerUnit) | 0;
  const left = parts * rest - distance;
  const series = 1 + left * (1 + left * (1 / 2 + left * (1 / 6 + left * (1 / 24))));
  return wholePowers[parts >> 8] * partPowers[parts & 255] * series;
}

/**
 * Fills `weights_V` with exp((logit - max) / temperature).
 *
 * @param logits_V as many at least, from `start` on
 * @param options.max the greatest of the logits; finite
 * @returns the sum of the weights, added up in the order of the ids; NaN when a logit is NaN
 */
export function exponentials(
  weights_V: Float64Array,
  logits_V: Float32Array,
  options: { readonly max: number; readonly temperature: number; readonly start?: number },
): number {
  const { max, start = 0 } = options;
  const scale = 1 / options.temperature;
  let total = 0;
  for (let id = 0; id < weights_V.length; id++) {
    const weight = exponentialOf((max - logits_V[start + id]) * scale);
    weights_V[id] = weight;
    total += weight;
  }
  return total;
}
