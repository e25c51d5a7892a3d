// What the tokens of a model stand for, packed so that it travels between processes and threads. Whoever has a tokenizer
// makes it; the engine's constraints read it.

export interface TokenVocabulary {
  /** The bytes of all tokens, one token after the other. */
  readonly bytes: Uint8Array;
  /** By token id, where its bytes end; tokens that mark structure and ids without a token have none. */
  readonly ends: Uint32Array;
}

/** Packs the bytes of each id; null for one that has none. */
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

/** The bytes of each id, views of the packed ones; null for one that has none. */
export function unpackVocabulary({ bytes, ends }: TokenVocabulary): readonly (Uint8Array | null)[] {
  return Array.from(ends, (end, id) => {
    const start = id === 0 ? 0 : ends[id - 1];
    return end > start ? bytes.subarray(start, end) : null;
  });
}
