// Top-k: keeps the k most probable tokens, and any other tokens that are exactly as probable as the last of them.
import { bucketCount, bucketOf, kthGreatest, leastOf } from "./buckets.ts";
import type { LogitsRow } from "./logits-row.ts";

export function keepTopK(row: LogitsRow): void {
  const { topK } = row.options.sampling;
  const { maxima } = row;
  // Logits below this bound cannot be among the k greatest, because at least k blocks have a logit that reaches the
  // bound.
  if (maxima !== null && topK <= maxima.length) row.narrow(kthGreatest(maxima, topK));
  if (topK < row.logits.length) row.narrow(kthLogit(row, topK));
}

/** Returns the k-th greatest logit. Counts logits by bucket, and sorts only the bucket that contains the result. */
function kthLogit(row: LogitsRow, k: number): number {
  const { max } = row;
  const counts = new Float64Array(bucketCount);
  for (const logit of row.logits) counts[bucketOf(max, logit)] += 1;
  let bucket = 0;
  let before = 0;
  while (before + counts[bucket] < k) before += counts[bucket++];
  row.narrow(leastOf(max, bucket));
  const members = row.logits.filter((logit) => bucketOf(max, logit) === bucket);
  return kthGreatest(members, k - before);
}
