// Bytes of a model's tokens, packed for transfer between processes and threads. Made by the holder of the tokenizer;
// read by the engine's constraints.

export interface TokenVocabulary {
  /** Bytes of all tokens, concatenated. */
  readonly bytes: Uint8Array;
  /** End offset of each token's bytes, by id. Structural tokens and unused ids are empty. */
  readonly ends: Uint32Array;
}

/** Packs the bytes of each id; null for an id without bytes. */
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

/** Returns views of the packed bytes of each id; null for an id without bytes. */
export function unpackVocabulary({ bytes, ends }: TokenVocabulary): readonly (Uint8Array | null)[] {
  return Array.from(ends, (end, id) => {
    const start = id === 0 ? 0 : ends[id - 1];
    return end > start ? bytes.subarray(start, end) : null;
  });
}
