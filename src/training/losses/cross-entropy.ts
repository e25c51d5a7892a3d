// The negative log-probability, whatever the old policy and the advantages.
import type { LossTokens, TokenLosses } from "./loss-tokens.ts";

/** Of each sequence. */
export function crossEntropyLosses(sequences: readonly LossTokens[]): readonly TokenLosses[] {
  return sequences.map(({ logprobs, weights }) => ({
    losses: Array.from(logprobs, (logprob) => -logprob),
    slopes: Array.from(weights, (weight) => -weight),
  }));
}
