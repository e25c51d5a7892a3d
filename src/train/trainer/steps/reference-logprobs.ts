// Computes log-probabilities under the base model. A KL penalty needs them for all trained tokens; a metric needs them
// for a share of the tokens.
import { atTrained } from "../../trajectories/sequences.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import type { Trainer, TrainerCall } from "../trainer.ts";

/** The base model's log-probabilities for some sequences of a batch, given by their indices (`rows`). */
export interface BaseComparison {
  readonly rows: readonly number[];
  /** Log-probabilities of the trained tokens, one array for each of `rows`. */
  readonly logprobs: readonly Float32Array[];
}

/**
 * Computes the given sequences of a batch with the base model, in one forward pass. Does nothing if `rows` is empty.
 */
export async function compareWithBase(
  trainer: Trainer,
  batch: OptimizerBatch,
  rows: readonly number[],
  call: TrainerCall,
): Promise<BaseComparison> {
  if (rows.length === 0) return { rows, logprobs: [] };
  const compared = rows.map((row) => batch[row]);
  const { logprobs } = await trainer.forward(compared, call, { hasAdapter: false });
  return { rows, logprobs };
}

/** Returns only the compared sequences, with the base model's log-probabilities as their reference. */
export function withReferenceLogprobs(
  batch: OptimizerBatch,
  { rows, logprobs }: BaseComparison,
): OptimizerBatch {
  return rows.map((row, index) => {
    const sequence = batch[row];
    return { ...sequence, referenceLogprobs: atTrained(sequence, logprobs[index]) };
  });
}
