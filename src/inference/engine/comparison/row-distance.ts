// How far two rows of scores over the same vocabulary are from each other. Pure.

export interface RowDistance {
  /** Natural-log probabilities of the token that came, under either row. */
  readonly logprobs: readonly [number, number];
  /** Kullback–Leibler divergence of the second's distribution from the first's, in nats. */
  readonly divergence: number;
  /** Whether the most probable token is the same. */
  readonly isSameGreedy: boolean;
}

/** @param token the one that came */
export function distance(reference: Float32Array, other: Float32Array, token: number): RowDistance {
  const [first, second] = [normalizerOf(reference), normalizerOf(other)];
  let divergence = 0;
  for (let index = 0; index < reference.length; index++) {
    const logprob = reference[index] - first.logSum;
    divergence += Math.exp(logprob) * (logprob - (other[index] - second.logSum));
  }
  return {
    logprobs: [reference[token] - first.logSum, other[token] - second.logSum],
    // Rounding can take it below zero where both are equal.
    divergence: Math.max(0, divergence),
    isSameGreedy: first.greatest === second.greatest,
  };
}

/** The logarithm of the sum of exponentials, and the index of the greatest score. */
function normalizerOf(scores: Float32Array): { readonly logSum: number; readonly greatest: number } {
  let greatest = 0;
  for (let index = 1; index < scores.length; index++) if (scores[index] > scores[greatest]) greatest = index;
  let sum = 0;
  for (const score of scores) sum += Math.exp(score - scores[greatest]);
  return { logSum: scores[greatest] + Math.log(sum), greatest };
}
