// Which tokens the stub servers of tools/bench/gateway answer a prompt with: every client can tell them, so that an answer that lost
// or mixed up a token is seen.

/** Of hone-tiny's vocabulary, each of which is a word of its own. */
const firstId = 400;
const idCount = 256;

/** Token `index` of the answer to a prompt. */
export function answerToken(prompt: readonly number[], index: number): number {
  let sum = 0;
  for (const [place, id] of prompt.entries()) sum = (Math.imul(sum, 31) + id * (place + 1)) >>> 0;
  return firstId + ((sum + 7 * index) % idCount);
}

/** The whole answer. */
export function answerTokens(prompt: readonly number[], count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => answerToken(prompt, index));
}
