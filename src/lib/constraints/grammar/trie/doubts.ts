// Tokens in doubt: those that end a lexeme whose text is remembered and go on behind it. A mask says of them what may
// follow whatever the text was; only where a token says that very text again does it matter which one it was.

export interface Doubt {
  readonly token: number;
  /** The lexeme's place among those under way. */
  readonly thread: number;
  /** How many of the token's bytes still belong to the lexeme. */
  readonly leftAt: number;
  /** Whether the token begins another lexeme that is remembered, of which but one text is left: it may be this one. */
  readonly isScarce: boolean;
}

/**
 * Whether the token must be tried.
 *
 * @param texts of the lexeme before the token, for each that remembers one; longer ones than the token may be left out
 */
export function isInDoubt(
  { leftAt, isScarce }: Doubt,
  bytes: Uint8Array,
  texts: readonly Uint8Array[],
): boolean {
  if (isScarce) return true;
  const behind = Buffer.from(bytes.subarray(leftAt));
  return texts.some((text) => behind.includes(Buffer.concat([text, bytes.subarray(0, leftAt)])));
}
