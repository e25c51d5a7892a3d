// The scores of a row without those of tokens that may not come.

export interface AllowedTokens {
  /** Bit `id % 32` of word `id / 32` is set for a token that may come. */
  readonly words: Uint32Array;
  /** May come too, whatever the words say. */
  readonly endTokenIds: ReadonlySet<number>;
}

/**
 * The scores with negative infinity where a token may not come.
 *
 * @param into_V is written and returned, of the length of the row
 * @param logits_V not modified
 */
export function onlyAllowed(
  into_V: Float32Array,
  logits_V: Float32Array,
  { words, endTokenIds }: AllowedTokens,
): Float32Array {
  into_V.fill(-Infinity);
  for (let index = 0; index < words.length; index++) {
    // The lowest set bit is taken away each time.
    for (let left = words[index]; left !== 0; left &= left - 1) {
      const id = 32 * index + (31 - Math.clz32(left & -left));
      into_V[id] = logits_V[id];
    }
  }
  for (const id of endTokenIds) into_V[id] = logits_V[id];
  return into_V;
}
