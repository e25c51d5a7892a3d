// Decides whether one prompt should wait for another that computes the same tokens next.

/**
 * Minimum number of shared tokens for waiting or copying. Computing fewer tokens again costs no more than a separate
 * part of the prompt.
 */
export const sharedCountMin = 32;

/** A prompt in prefill, with the scope on which its keys and values depend. */
export interface PrefillingPrompt {
  /** Scope in the prefix cache; null if the prompt does not read the cache. */
  readonly prefixScope: string | null;
  readonly tokenIds: readonly number[];
  /** Number of leading tokens that have been computed. */
  readonly computedCount: number;
}

/**
 * True if prompt `one` is about to compute so many tokens of prompt `other` that `other` should wait. `one` may be
 * slightly ahead; `other` then also reads the tokens in between from the cache.
 */
export function computesForOther(one: PrefillingPrompt, other: PrefillingPrompt): boolean {
  if (one.prefixScope === null || one.prefixScope !== other.prefixScope) return false;
  const ahead = one.computedCount - other.computedCount;
  if (ahead < 0 || ahead >= sharedCountMin) return false;
  const end = other.computedCount + sharedCountMin;
  // The last token of a prompt must always be computed, to get the logits after it.
  if (end > one.tokenIds.length || end >= other.tokenIds.length) return false;
  // Compares backwards, because prompts with a common beginning, such as a system message, differ near the end.
  for (let index = end - 1; index >= 0; index--) {
    if (one.tokenIds[index] !== other.tokenIds[index]) return false;
  }
  return true;
}
