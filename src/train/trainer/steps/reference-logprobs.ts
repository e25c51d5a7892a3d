// Log-probabilities of a batch under the base model. A KL penalty needs them for all tokens, and a metric for a share
// of the tokens.
import { atTrained } from "../../trajectories/sequences.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import type { Trainer, TrainerCall } from "../trainer.ts";

/** The base model's log-probabilities of some rows of a batch. */
export interface BaseComparison {
  readonly rows: readonly number[];
  /** Log-probabilities of the trained tokens, one array per row. */
  readonly logprobs: readonly Float32Array[];
}

/** Computes these rows with the base model in one forward pass. Does nothing if there are no rows. */
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

/** Returns the compared rows with their reference log-probabilities. */
export function withReferenceLogprobs(
  batch: OptimizerBatch,
  { rows, logprobs }: BaseComparison,
): OptimizerBatch {
  return rows.map((row, index) => {
    const sequence = batch[row];
    return { ...sequence, referenceLogprobs: atTrained(sequence, logprobs[index]) };
  });
}
