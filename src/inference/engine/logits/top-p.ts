// Top-p: removes the least probable tokens as long as their total weight is at most 1 - p, but never the most probable
// token; among equal logits, the higher id is removed first. To avoid computing the set of kept tokens, this step first
// draws from the whole row. Most draws hit a kept token, and checking that is cheap; after `topPDrawCount` misses, the
// step computes the set.
import { blockSize } from "./blocks/score-blocks.ts";
import { ascending, bucketCount, bucketOf, leastOf } from "./buckets.ts";
import { drawIndex, totalMass, maxScoreMass, exponentialOf, type LogitsRow } from "./logits-row.ts";

/** Maximum number of draws from the whole row before the set of kept tokens is computed. */
export const topPDrawCount = 8;

export function drawTopP(row: LogitsRow): void {
  for (let draw = 0; draw < topPDrawCount; draw++) {
    const index = drawIndex(row);
    if (index < 0) return;
    if (isKeptByTopP(row, index)) {
      row.chosenId = row.idAt(index);
      return;
    }
  }
  keepTopP(row);
}

/**
 * True if top-p keeps the token. It does if the token and all equally or less probable tokens together have more than 1
 * - p of the total weight.
 */
function isKeptByTopP(row: LogitsRow, index: number): boolean {
  const { logits, max, temperature, blocks } = row;
  const { maxima, masses } = blocks;
  const total = totalMass(blocks);
  const goesMax = (1 - row.options.sampling.topP) * total;
  const own = logits[index];
  const scale = 1 / temperature;
  const unit = maxScoreMass(row);
  /** Total weight of the blocks that may contain more probable tokens and have not been examined yet. */
  let open = 0;
  for (let block = 0; block < maxima.length; block++) if (maxima[block] >= own) open += masses[block];
  let above = 0;
  for (let block = 0; block < maxima.length; block++) {
    if (maxima[block] < own) continue;
    if (total - above - open > goesMax) return true;
    open -= masses[block];
    const end = Math.min(logits.length, (block + 1) * blockSize);
    for (let other = block * blockSize; other < end; other++) {
      const logit = logits[other];
      if (logit > own || (logit === own && other < index))
        above += unit * exponentialOf((max - logit) * scale);
    }
    if (total - above <= goesMax) return false;
  }
  return true;
}

function keepTopP(row: LogitsRow): void {
  row.computeWeights();
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
  for (let index = 0; index < logits.length; index++) {
    if (bucketOf(max, logits[index]) === bucket) members.push(index);
  }
  let lastIndex = 0;
  for (const index of ascending(members, logits)) {
    lastIndex = index;
    if (dropped + weights[index] > dropMax) break;
    dropped += weights[index];
  }
  row.narrow(logits[lastIndex], lastIndex);
}

/** Returns the total weight of each bucket. */
function massesOf({ logits, weights, max }: LogitsRow): Float64Array {
  const masses = new Float64Array(bucketCount);
  for (let index = 0; index < logits.length; index++) masses[bucketOf(max, logits[index])] += weights[index];
  return masses;
}
