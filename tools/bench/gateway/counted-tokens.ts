// Computes the tokens with which the stub servers of tools/bench/gateway answer a prompt. A client computes the same
// tokens itself, and thus detects lost tokens and tokens of another answer.

/** First of 256 consecutive ids in hone-tiny's vocabulary that each stand for a whole word. */
const firstId = 400;
const idCount = 256;

/** Returns the token at 0-based position `index` of the answer to a prompt. */
export function answerToken(prompt: readonly number[], index: number): number {
  let sum = 0;
  for (const [place, id] of prompt.entries()) sum = (Math.imul(sum, 31) + id * (place + 1)) >>> 0;
  return firstId + ((sum + 7 * index) % idCount);
}

/** Returns the first `count` tokens of the answer to a prompt. */
export function answerTokens(prompt: readonly number[], count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => answerToken(prompt, index));
}
