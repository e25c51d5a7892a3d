// Sampling of records, for selections with more records than may be read. It is pure, so that every kind of store
// samples the same records.

/** Modulus that is applied to a record's number before sampling. */
export const sampleCycle = 1 << 20;
/** The odd number closest to the golden section of {@link sampleCycle}. */
export const sampleFactor = 648_055;

/**
 * True if the record with this number in storage order is in the sample. Multiples of the golden section are spread
 * evenly over any arithmetic sequence (Knuth, The Art of Computer Programming 3, 6.4). Records that alternate or
 * repeat with a period are therefore sampled in proportion.
 *
 * @param share share of all records, above 0; 1 means all
 */
export function isSampled(number: number, share: number): boolean {
  return ((number % sampleCycle) * sampleFactor) % sampleCycle < sampleBound(share);
}

/** Returns the bound below which a record's number, after multiplication and modulus, is in the sample. */
export function sampleBound(share: number): number {
  return Math.ceil(share * sampleCycle);
}
