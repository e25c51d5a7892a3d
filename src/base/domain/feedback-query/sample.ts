// Sampling of records when there are too many to read. Pure, so every kind of store samples the same records.

/** Record numbers are sampled modulo this cycle. */
export const sampleCycle = 1 << 20;
/** The odd number closest to the golden section of the cycle. */
export const sampleFactor = 648_055;

/**
 * True if a record is in the sample, by its number in storage order. Multiples of the golden section are spread evenly
 * over any arithmetic sequence (Knuth, The Art of Computer Programming 3, 6.4), so a periodic pattern, such as every
 * other record, is sampled fairly.
 *
 * @param share of all records, above 0; 1 for all
 */
export function isSampled(number: number, share: number): boolean {
  return ((number % sampleCycle) * sampleFactor) % sampleCycle < sampleBound(share);
}

/** Returns the upper bound of the multiplied numbers of sampled records. */
export function sampleBound(share: number): number {
  return Math.ceil(share * sampleCycle);
}
