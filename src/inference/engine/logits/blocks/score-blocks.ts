// Blocks of a row of scores: the greatest score and the total weight of consecutive entries. Searches for the greatest
// scores, or for the entry of a random number, pass over the blocks and into only a few. This module computes them
// from given weights; `block-session.ts` computes them for many rows.

/** Entries of a block; the last block of a row may have fewer. */
export const blockSize = 64;

export interface ScoreBlocks {
  /** The greatest score of each block. */
  readonly maxima: Float32Array;
  /** Total weight of each block's scores at the temperature, in any common unit; NaN if a score is NaN. */
  readonly masses: Float32Array | Float64Array;
  /** Divisor of the scores. */
  readonly temperature: number;
}

/** Computes blocks from given weights, in the weights' unit. */
export function blocksOf(logits: Float32Array, weights: Float64Array, temperature: number): ScoreBlocks {
  const count = Math.ceil(logits.length / blockSize);
  const maxima = new Float32Array(count);
  const masses = new Float64Array(count);
  for (let block = 0; block < count; block++) {
    const end = Math.min(logits.length, (block + 1) * blockSize);
    let max = -Infinity;
    let mass = 0;
    for (let index = block * blockSize; index < end; index++) {
      if (logits[index] > max) max = logits[index];
      mass += weights[index];
    }
    maxima[block] = max;
    masses[block] = mass;
  }
  return { maxima, masses, temperature };
}
