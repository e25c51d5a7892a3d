// Summary of a row of logits by blocks of consecutive entries: the greatest logit and the total weight of each block.
// With a summary, a search for the greatest logits, or for the entry that a random number selects, reads only a few
// blocks. This module computes blocks from given weights; `block-session.ts` computes them for many rows.

/** Number of entries in a block; the last block of a row may have fewer. */
export const blockSize = 64;

export interface ScoreBlocks {
  /** Greatest logit of each block. */
  readonly maxima: Float32Array;
  /**
   * Total weight of each block's logits at the temperature; NaN if a logit of the block is NaN. The unit is arbitrary,
   * but the same for all blocks.
   */
  readonly masses: Float32Array | Float64Array;
  /** Temperature at which the weights were computed; logits are divided by it. */
  readonly temperature: number;
}

/** Computes blocks from the weights of the logits. The blocks' total weights have the unit of the given weights. */
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
