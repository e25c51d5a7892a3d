// Doubtful tokens, which end a lexeme whose text is recorded and continue after it. Masks are computed for an unknown
// text; only if a token repeats that very text does the actual one matter.

export interface Doubt {
  readonly token: number;
  /** Index of the lexeme among the active ones. */
  readonly thread: number;
  /** Number of the token's bytes that belong to the lexeme. */
  readonly leftAt: number;
  /** True if the token begins another recorded lexeme with only one possible text, which may equal this one. */
  readonly isScarce: boolean;
}

/**
 * True if the token must be tried.
 *
 * @param texts of the lexeme before the token, one per symbol that records it; may omit texts longer than the token
 */
export function needsTrial(
  { leftAt, isScarce }: Doubt,
  bytes: Uint8Array,
  texts: readonly Uint8Array[],
): boolean {
  if (isScarce) return true;
  const behind = Buffer.from(bytes.subarray(leftAt));
  return texts.some((text) => behind.includes(Buffer.concat([text, bytes.subarray(0, leftAt)])));
}
