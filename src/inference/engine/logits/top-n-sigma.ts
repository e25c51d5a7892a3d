// Top-n-sigma (Tang et al., arXiv 2411.07641): removes tokens whose logit is more than n standard deviations below the
// greatest logit. As in llama.cpp, it uses the population standard deviation of the logits of all allowed tokens,
// before the temperature is applied.
import type { LogitsRow } from "./logits-row.ts";

export function keepTopNSigma(row: LogitsRow): void {
  row.narrow(row.max - row.options.sampling.topNSigma * standardDeviation(row.logits));
}

/** Returns the standard deviation of all logits except negative infinity, computed in float64. */
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
