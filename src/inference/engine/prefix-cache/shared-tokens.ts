// Decides when two prompts share a computation: the next tokens of one are also the next tokens of the other.

/**
 * Fewer shared tokens than this are computed instead of waited for or copied: a separate part of a prompt costs as
 * much.
 */
export const sharedCountMin = 32;

/** A prompt in prefill, with everything that its keys and values depend on. */
export interface PrefillingPrompt {
  /** Scope in the prefix cache; null if it shares nothing. */
  readonly prefixScope: string | null;
  readonly tokenIds: readonly number[];
  /** Number of its tokens computed so far, from the first on. */
  readonly computedCount: number;
}

/**
 * True if one prompt's next tokens are also the other's, and enough of them that the other had better wait. The first
 * may be slightly ahead: the other then reads that difference together with the new tokens.
 */
export function computesForOther(one: PrefillingPrompt, other: PrefillingPrompt): boolean {
  if (one.prefixScope === null || one.prefixScope !== other.prefixScope) return false;
  const ahead = one.computedCount - other.computedCount;
  if (ahead < 0 || ahead >= sharedCountMin) return false;
  const end = other.computedCount + sharedCountMin;
  // Every prompt computes its last token, for the scores after it.
  if (end > one.tokenIds.length || end >= other.tokenIds.length) return false;
  // From the last one down: prompts with a common beginning, such as a system message, differ after it.
  for (let index = end - 1; index >= 0; index--) {
    if (one.tokenIds[index] !== other.tokenIds[index]) return false;
  }
  return true;
}
