// Top-k: only the k most probable tokens stay, and those that tie with the last of them.
import { bucketCount, bucketOf, kthGreatest } from "./buckets.ts";
import type { LogitsRow } from "./logits-row.ts";

export function keepTopK(row: LogitsRow): void {
  const { topK } = row.options.sampling;
  if (topK >= row.logits_V.length) return;
  row.narrow({ logit: kthLogit(row, topK), lastId: row.logits_V.length });
}

/** The k-th greatest score: whole buckets are counted, only the one it falls into is looked into. */
function kthLogit({ logits_V, max }: LogitsRow, k: number): number {
  const counts = new Float64Array(bucketCount);
  for (let id = 0; id < logits_V.length; id++) counts[bucketOf(max, logits_V[id])] += 1;
  let bucket = 0;
  let before = 0;
  while (before + counts[bucket] < k) before += counts[bucket++];
  const members = new Float32Array(counts[bucket]);
  let size = 0;
  for (const logit of logits_V) if (bucketOf(max, logit) === bucket) members[size++] = logit;
  return kthGreatest(members, k - before);
}
