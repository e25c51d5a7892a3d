// Which records stand for all where there are too many to read: pure, for every kind of store.

/** Records are told apart by their numbers modulo this. */
export const sampleCycle = 1 << 20;
/** The odd number next to the golden section of the cycle. */
export const sampleFactor = 648_055;

/**
 * Whether a record is in the sample, by its number in the order of storing. Multiples of the golden section are spread
 * evenly however numbers are picked out of a row (Knuth, The Art of Computer Programming 3, 6.4), so that what comes in
 * turns, such as every other record, is sampled as all else is.
 *
 * @param share of all records, above 0; 1 for all
 */
export function isSampled(number: number, share: number): boolean {
  return ((number % sampleCycle) * sampleFactor) % sampleCycle < sampleBound(share);
}

/** What the numbers of sampled records are below, once multiplied. */
export function sampleBound(share: number): number {
  return Math.ceil(share * sampleCycle);
}
