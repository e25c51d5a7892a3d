// Model data that logits processors can read: the vocabulary.
import type { TokenVocabulary } from "../../../base/domain/vocabulary.ts";

export interface ProcessorModel {
  readonly vocabularySize: number;
  /** Returns a token's UTF-8 bytes; null for special tokens, and for ids that no token has. */
  readonly tokenBytes: (id: number) => Uint8Array | null;
  /** Returns the token whose text is exactly `text`; null if there is none. */
  readonly tokenOf: (text: string) => number | null;
}

export function modelOf(options: {
  readonly vocabulary: TokenVocabulary;
  readonly vocabularySize: number;
}): ProcessorModel {
  const { bytes, ends } = options.vocabulary;
  const startOf = (id: number): number => (id === 0 ? 0 : ends[id - 1]);
  const tokenBytes = (id: number): Uint8Array | null =>
    id < ends.length && ends[id] > startOf(id) ? bytes.slice(startOf(id), ends[id]) : null;
  return {
    vocabularySize: options.vocabularySize,
    tokenBytes,
    tokenOf: (text) => {
      const wanted = Buffer.from(text);
      const id = ends.findIndex(
        (end, index) =>
          end - startOf(index) === wanted.length && wanted.equals(bytes.subarray(startOf(index), end)),
      );
      return id < 0 || wanted.length === 0 ? null : id;
    },
  };
}
