// Sorts logits into buckets by their distance from the greatest logit, so that only a small part of a vocabulary needs
// to be sorted. Buckets with too many entries are split recursively.

/**
 * Number of buckets. Each bucket covers a distance of 1/8 from the greatest logit; the last one also covers all greater
 * distances.
 */
export const bucketCount = 512;
const bucketsPerUnit = 8;

/** Returns the bucket of a logit, given the greatest logit of its row. */
export function bucketOf(max: number, logit: number): number {
  const place = (max - logit) * bucketsPerUnit;
  return place < bucketCount - 1 ? place | 0 : bucketCount - 1;
}

/** Returns a lower bound for the logits in this bucket and in all buckets with greater logits. */
export function leastOf(max: number, bucket: number): number {
  // The bound is one bucket lower than necessary, so that rounding cannot put a logit below it.
  return bucket < bucketCount - 1 ? max - (bucket + 2) / bucketsPerUnit : -Infinity;
}

/** Maximum number of entries that are sorted by comparison; more entries are split into finer buckets. */
const sortedCountMax = 64;
const finerCount = 256;

/**
 * Yields ids in the order of ascending logits; among equal logits, the higher id first. Sorts lazily, only as far as
 * the caller reads.
 *
 * @param ids in ascending order; not modified
 */
export function* ascending(ids: readonly number[], logits_V: Float32Array): Generator<number, void> {
  if (ids.length <= sortedCountMax) {
    yield* ids.toSorted((a, b) => (logits_V[a] === logits_V[b] ? b - a : logits_V[a] - logits_V[b]));
    return;
  }
  const [least, greatest] = rangeOf(ids.length, (index) => logits_V[ids[index]]);
  if (least === greatest) {
    yield* ids.toReversed();
    return;
  }
  const finer = Array.from({ length: finerCount }, (): number[] => []);
  for (const id of ids) finer[finerBucketOf(logits_V[id], least, greatest)].push(id);
  for (const bucket of finer.reverse()) yield* ascending(bucket, logits_V);
}

/** Returns the k-th greatest logit; k counts from 1. */
export function kthGreatest(logits: Float32Array, k: number): number {
  if (logits.length <= sortedCountMax) return logits.toSorted()[logits.length - k];
  const [least, greatest] = rangeOf(logits.length, (index) => logits[index]);
  if (least === greatest) return greatest;
  const counts = new Uint32Array(finerCount);
  for (const logit of logits) counts[finerBucketOf(logit, least, greatest)] += 1;
  let bucket = 0;
  let before = 0;
  while (before + counts[bucket] < k) before += counts[bucket++];
  const members = logits.filter((logit) => finerBucketOf(logit, least, greatest) === bucket);
  return kthGreatest(members, k - before);
}

/**
 * Returns the index of the finer bucket into which a logit falls when a range is split. The greatest logit falls into
 * the first bucket and the least logit never does, so each split makes progress. Infinitely distant logits are in the
 * last bucket.
 */
function finerBucketOf(logit: number, least: number, greatest: number): number {
  const place = ((greatest - logit) * finerCount) / (greatest - least);
  return place < finerCount - 1 ? place | 0 : finerCount - 1;
}

function rangeOf(count: number, logitAt: (index: number) => number): readonly [number, number] {
  let least = Infinity;
  let greatest = -Infinity;
  for (let index = 0; index < count; index++) {
    const logit = logitAt(index);
    if (logit < least) least = logit;
    if (logit > greatest) greatest = logit;
  }
  return [least, greatest];
}
