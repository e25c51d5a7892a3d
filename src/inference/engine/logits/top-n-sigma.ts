// Top-n-sigma (Tang et al., arXiv 2411.07641): tokens go whose score is more than n standard deviations below the greatest.
// As llama.cpp has it: over the scores of all tokens that may come, taken as a whole population, whatever the temperature.
import type { LogitsRow } from "./logits-row.ts";

export function keepTopNSigma(row: LogitsRow): void {
  row.narrow(row.max - row.options.sampling.topNSigma * standardDeviation(row.logits));
}

/** Of the scores that are not negative infinity, in float64. */
function standardDeviation(logits: Float32Array): number {
  let count = 0;
  let sum = 0;
  for (const logit of logits) {
    if (logit === -Infinity) continue;
    count += 1;
    sum += logit;
  }
  const mean = sum / count;
  let squares = 0;
  for (const logit of logits) if (logit !== -Infinity) squares += (logit - mean) ** 2;
  return Math.sqrt(squares / count);
}
