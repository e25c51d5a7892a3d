// Doubtful tokens. A token is doubtful if it ends a lexeme whose text is recorded, and has further bytes after the
// lexeme. A cached mask is right for any recorded text, except that these further bytes may repeat the recorded text,
// so doubtful tokens are checked separately.

export interface Doubt {
  readonly token: number;
  /** Index of the lexeme among the active lexemes of the parser state. */
  readonly thread: number;
  /** Number of the token's bytes that belong to the lexeme. */
  readonly leftAt: number;
  /**
   * True if the token begins another recorded lexeme that at most one text can complete. This text may equal the text
   * of the ended lexeme.
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
