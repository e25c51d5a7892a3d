// Bytes of a model's tokens, packed for transfer between processes and threads. The process that has the tokenizer
// packs them, and the constraints of the engine read them.

export interface TokenVocabulary {
  /** Bytes of all tokens, one token after the other. */
  readonly bytes: Uint8Array;
  /** For each token id, the offset at which the token's bytes end. Structural tokens and unused ids have no bytes. */
  readonly ends: Uint32Array;
}

/**
 * Packs the bytes of tokens.
 *
 * @param tokens bytes by token id; null for an id without bytes
 */
export function packVocabulary(tokens: readonly (Uint8Array | null)[]): TokenVocabulary {
  const ends = new Uint32Array(tokens.length);
  let size = 0;
  for (const [id, token] of tokens.entries()) {
    size += token?.length ?? 0;
    ends[id] = size;
  }
  const bytes = new Uint8Array(size);
  for (const [id, token] of tokens.entries()) if (token !== null) bytes.set(token, ends[id] - token.length);
  return { bytes, ends };
}

/** Returns the bytes of each token, as views of the packed bytes; null for an id without bytes. */
export function unpackVocabulary({ bytes, ends }: TokenVocabulary): readonly (Uint8Array | null)[] {
  return Array.from(ends, (end, id) => {
    const start = id === 0 ? 0 : ends[id - 1];
    return end > start ? bytes.subarray(start, end) : null;
  });
}
