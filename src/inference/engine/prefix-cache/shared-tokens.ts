// Decides when two prompts share a computation: if the next tokens of one prompt are also the next tokens of the
// other.

/**
 * Minimum number of shared tokens. Fewer are computed instead of waited for or copied, because a separate part of a
 * prompt costs as much.
 */
export const sharedCountMin = 32;

/** A prompt in prefill, with the scope that its keys and values depend on. */
export interface PrefillingPrompt {
  /** Scope in the prefix cache; null if the prompt may not share cache entries. */
  readonly prefixScope: string | null;
  readonly tokenIds: readonly number[];
  /** Number of tokens computed so far, counted from the start of the prompt. */
  readonly computedCount: number;
}

/**
 * True if one prompt's next tokens are also the other's, and so many that the other should wait. The first prompt may
 * be slightly ahead; the other then also reads the tokens in between.
 */
export function computesForOther(one: PrefillingPrompt, other: PrefillingPrompt): boolean {
  if (one.prefixScope === null || one.prefixScope !== other.prefixScope) return false;
  const ahead = one.computedCount - other.computedCount;
  if (ahead < 0 || ahead >= sharedCountMin) return false;
  const end = other.computedCount + sharedCountMin;
  // Every prompt computes its last token, to get the logits after it.
  if (end > one.tokenIds.length || end >= other.tokenIds.length) return false;
  // Backwards, because prompts with a common beginning, such as a system message, differ near the end.
  for (let index = end - 1; index >= 0; index--) {
    if (one.tokenIds[index] !== other.tokenIds[index]) return false;
  }
  return true;
}
