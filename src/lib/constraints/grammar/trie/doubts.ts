// Doubtful tokens: a token is doubtful if it ends a lexeme whose text is recorded, and continues after the lexeme. A
// cached mask is right for any recorded text unless the continuation of such a token repeats that text. So doubtful
// tokens are checked separately.

export interface Doubt {
  readonly token: number;
  /** Index of the lexeme among the active lexemes of the parser state. */
  readonly thread: number;
  /** Number of the token's bytes that belong to the lexeme. */
  readonly leftAt: number;
  /**
   * True if, after the token, another recorded lexeme has begun that at most one text can complete. That text may be
   * this lexeme's text.
   */
  readonly isScarce: boolean;
}

/**
 * Returns true if the recorded texts may make the token invalid, so that it must be checked byte by byte.
 *
 * @param texts text of the lexeme before the token, once per symbol that records it; texts longer than the token may
 * be omitted
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
