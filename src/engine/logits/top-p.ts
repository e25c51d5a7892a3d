// Top-p: from the least probable token up, tokens go while what went is at most 1 - p of the weight; the most probable
// one stays. Of equal scores the higher id goes first.
import { ascending, bucketCount, bucketOf, leastOf } from "./buckets.ts";
import type { LogitsRow } from "./logits-row.ts";

export function keepTopP(row: LogitsRow): void {
  row.weigh();
  if (Number.isNaN(row.total)) return;
  const { max } = row;
  const masses = massesOf(row);
  const dropMax = (1 - row.options.sampling.topP) * row.total;
  let dropped = 0;
  let bucket = bucketCount - 1;
  while (bucket > 0 && dropped + masses[bucket] <= dropMax) dropped += masses[bucket--];
  row.narrow(leastOf(max, bucket));
  const { logits, weights } = row;
  const members: number[] = [];
  for (let place = 0; place < logits.length; place++) {
    if (bucketOf(max, logits[place]) === bucket) members.push(place);
  }
  let lastPlace = 0;
  for (const place of ascending(members, logits)) {
    lastPlace = place;
    if (dropped + weights[place] > dropMax) break;
    dropped += weights[place];
  }
  row.narrow(logits[lastPlace], lastPlace);
}

/** What the scores of each bucket weigh together. */
function massesOf({ logits, weights, max }: LogitsRow): Float64Array {
  const masses = new Float64Array(bucketCount);
  for (let place = 0; place < logits.length; place++) masses[bucketOf(max, logits[place])] += weights[place];
  return masses;
}
