// The log-probabilities of a batch under the base model: for a KL penalty, and for a metric over a part of the tokens.
import { atTrained } from "../../trajectories/sequences.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import type { Trainer, TrainerCall } from "../trainer.ts";

/** What the base model gives for some rows of a batch. */
export interface BaseComparison {
  readonly rows: readonly number[];
  /** For each of these rows the log-probabilities of its trained tokens. */
  readonly logprobs: readonly Float32Array[];
}

/** Costs a forward pass of these rows; none where there are none. */
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

/** The compared rows with their reference log-probabilities. */
export function withReferenceLogprobs(
  batch: OptimizerBatch,
  { rows, logprobs }: BaseComparison,
): OptimizerBatch {
  return rows.map((row, index) => {
    const sequence = batch[row];
    return { ...sequence, referenceLogprobs: atTrained(sequence, logprobs[index]) };
  });
}
