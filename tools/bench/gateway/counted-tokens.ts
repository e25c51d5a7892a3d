// The tokens with which the stub servers of tools/bench/gateway answer a prompt. Every client can compute them, and so
// detects an answer that lost or mixed up a token.

/** First of the ids in hone-tiny's vocabulary that each stand for a whole word. */
const firstId = 400;
const idCount = 256;

/** Returns token `index` of the answer to a prompt. */
export function answerToken(prompt: readonly number[], index: number): number {
  let sum = 0;
  for (const [place, id] of prompt.entries()) sum = (Math.imul(sum, 31) + id * (place + 1)) >>> 0;
  return firstId + ((sum + 7 * index) % idCount);
}

/** Returns the whole answer. */
export function answerTokens(prompt: readonly number[], count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => answerToken(prompt, index));
}
