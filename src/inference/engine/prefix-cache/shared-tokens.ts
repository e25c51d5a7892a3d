// When two prompts share a computation: what one computes next is what the other needs next.

/** Fewer tokens than this are computed rather than waited for or copied: a part of a prompt of its own costs as much. */
export const sharedCountMin = 32;

/** A prompt on its way, by what its keys and values depend on. */
export interface PromptOnItsWay {
  /** As of the prefix cache; null where it shares nothing. */
  readonly prefixScope: string | null;
  readonly tokenIds: readonly number[];
  /** Of its tokens, from the first on. */
  readonly computedCount: number;
}

/**
 * Whether what one prompt computes next is what another one needs next, and enough of it that the other better waits. The
 * first may have a little more computed, which the other reads together with what comes: what it has beyond that was not
 * kept, and less is nothing to wait for.
 */
export function computesForOther(one: PromptOnItsWay, other: PromptOnItsWay): boolean {
  if (one.prefixScope === null || one.prefixScope !== other.prefixScope) return false;
  const ahead = one.computedCount - other.computedCount;
  if (ahead < 0 || ahead >= sharedCountMin) return false;
  const end = other.computedCount + sharedCountMin;
  // Its last token everyone computes, for the scores after it.
  if (end > one.tokenIds.length || end >= other.tokenIds.length) return false;
  // From the last one on: prompts with a beginning in common, as a system message, differ behind it.
  for (let index = end - 1; index >= 0; index--) {
    if (one.tokenIds[index] !== other.tokenIds[index]) return false;
  }
  return true;
}
