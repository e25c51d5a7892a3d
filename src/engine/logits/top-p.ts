// Top-p: from the least probable token up, tokens go while what went is at most 1 - p of the weight; the most probable
// one stays. Of equal scores the higher id goes first.
import { ascending, bucketCount, bucketOf } from "./buckets.ts";
import type { LogitsRow } from "./logits-row.ts";

export function keepTopP(row: LogitsRow): void {
  const { logits_V, weights_V, max } = row;
  const masses = new Float64Array(bucketCount);
  for (let id = 0; id < logits_V.length; id++) {
    if (row.isKept(id)) masses[bucketOf(max, logits_V[id])] += weights_V[id];
  }
  const dropMax = (1 - row.options.sampling.topP) * row.total;
  let dropped = 0;
  let bucket = bucketCount - 1;
  while (bucket > 0 && dropped + masses[bucket] <= dropMax) dropped += masses[bucket--];
  const members: number[] = [];
  for (let id = 0; id < logits_V.length; id++) {
    if (bucketOf(max, logits_V[id]) === bucket && row.isKept(id)) members.push(id);
  }
  let lastId = row.greatestId;
  for (const id of ascending(members, logits_V)) {
    lastId = id;
    if (dropped + weights_V[id] > dropMax) break;
    dropped += weights_V[id];
  }
  row.narrow({ logit: logits_V[lastId], lastId });
}
