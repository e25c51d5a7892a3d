// Chooses a sample of the records, for a selection with more records than one request may read. It is pure, so that
// every kind of store chooses the same records.

/** Records whose numbers are equal modulo this value are either all in a sample or all out of it. */
export const sampleCycle = 1 << 20;
/**
 * Factor by which a record's number is multiplied: the odd number closest to the golden section of {@link sampleCycle}.
 */
export const sampleFactor = 648_055;

/**
 * True if the record with this number in storage order is in the sample. Multiples of the golden section are spread
 * evenly over any arithmetic sequence (Knuth, The Art of Computer Programming 3, 6.4). Records that alternate or repeat
 * with a period are therefore sampled in proportion.
 *
 * @param share fraction of all records to choose, above 0; 1 means all
 */
export function isSampled(number: number, share: number): boolean {
  return ((number % sampleCycle) * sampleFactor) % sampleCycle < sampleBound(share);
}

/**
 * Returns the bound for a record's number after multiplication and modulus. If the result is below the bound, the
 * record is in the sample.
 */
export function sampleBound(share: number): number {
  return Math.ceil(share * sampleCycle);
}
