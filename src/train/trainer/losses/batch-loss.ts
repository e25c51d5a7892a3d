// Computes the loss of a batch, and its derivative by each log-probability, as a pure function of the
// log-probabilities. With these derivatives, a trainer needs only gradients of weighted sums of log-probabilities. The
// embedded trainer uses graph nodes instead (embedded/loss.ts), which save a forward pass.
import { unreachable } from "../../../base/domain/assert.ts";
import type { Loss } from "../trainer.ts";
import {
  type BatchLoss,
  type LossInput,
  type LossTokens,
  type TokenLosses,
  lossTokensOf,
} from "./loss-tokens.ts";
import { policyLosses } from "./policy.ts";
import { preferenceBatchLoss } from "./preference.ts";

/** Computes the loss of a batch and its derivative by each log-probability. See {@link Loss} for the formulas. */
export function batchLoss(batch: readonly LossInput[], loss: Loss): BatchLoss {
  return loss.kind === "preference" ? preferenceBatchLoss(batch, loss.config) : tokenBatchLoss(batch, loss);
}

/** A loss that is a sum over tokens, unlike a preference loss. */
type TokenLoss = Exclude<Loss, { readonly kind: "preference" }>;

function tokenBatchLoss(batch: readonly LossInput[], loss: TokenLoss): BatchLoss {
  const sequences = batch.map(({ sequence, logprobs }) => lossTokensOf(sequence, logprobs));
  const size = sequences.reduce((count, { logprobs }) => count + logprobs.length, 0) + 1e-6;
  const computed = tokenLosses(sequences, loss);
  return {
    loss: computed.reduce((sum, { losses }, row) => sum + weighted(losses, sequences[row]) / size, 0),
    slopes: computed.map(({ slopes }) => slopes.map((slope) => slope / size)),
  };
}

function tokenLosses(sequences: readonly LossTokens[], loss: TokenLoss): readonly TokenLosses[] {
  switch (loss.kind) {
    case "policy":
      return policyLosses(sequences, loss.config);
    case "cross-entropy":
      return crossEntropyLosses(sequences);
    default:
      return unreachable(loss);
  }
}

function weighted(losses: readonly number[], { weights }: LossTokens): number {
  return losses.reduce((sum, loss, at) => sum + loss * weights[at], 0);
}

/** Returns the negative log-probability of each token, which depends neither on the old policy nor on advantages. */
function crossEntropyLosses(sequences: readonly LossTokens[]): readonly TokenLosses[] {
  return sequences.map(({ logprobs, weights }) => ({
    losses: Array.from(logprobs, (logprob) => -logprob),
    slopes: Array.from(weights, (weight) => -weight),
  }));
}
