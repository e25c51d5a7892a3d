// A row of scores in blocks of consecutive places: the greatest score of each, and what its scores weigh together. Whoever
// looks for the greatest scores, or for the place that a random number falls on, passes over the blocks and into a few of
// them. Here they are computed of weights that are there; `block-session.ts` has them computed of many rows at once.

/** Places of a block; the last block of a row has what is left. */
export const blockSize = 64;

export interface ScoreBlocks {
  /** The greatest score of each block. */
  readonly maxima: Float32Array;
  /**
   * What the scores of each weigh together at the temperature, all in the same unit, whatever that is; not a number where a
   * score is none.
   */
  readonly masses: Float32Array | Float64Array;
  /** What scores were divided by. */
  readonly temperature: number;
}

/** Of weights that are computed, in the unit in which these are. */
export function blocksOf(logits: Float32Array, weights: Float64Array, temperature: number): ScoreBlocks {
  const count = Math.ceil(logits.length / blockSize);
  const maxima = new Float32Array(count);
  const masses = new Float64Array(count);
  for (let block = 0; block < count; block++) {
    const end = Math.min(logits.length, (block + 1) * blockSize);
    let max = -Infinity;
    let mass = 0;
    for (let place = block * blockSize; place < end; place++) {
      if (logits[place] > max) max = logits[place];
      mass += weights[place];
    }
    maxima[block] = max;
    masses[block] = mass;
  }
  return { maxima, masses, temperature };
}
