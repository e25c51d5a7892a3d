// What the base model gives for the tokens of a batch: what a KL penalty compares with.
import { trainedIndices } from "../../trajectories/sequences.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import type { Trainer, TrainerCall } from "../trainer.ts";

/** The same batch with its reference log-probabilities; costs a forward pass. */
export async function withReferenceLogprobs(
  trainer: Trainer,
  batch: OptimizerBatch,
  call: TrainerCall,
): Promise<OptimizerBatch> {
  const { logprobs } = await trainer.forward(batch, call, { hasAdapter: false });
  return batch.map((sequence, row) => {
    const referenceLogprobs = new Float32Array(sequence.mask.length).fill(NaN);
    trainedIndices(sequence).forEach((at, position) => (referenceLogprobs[at] = logprobs[row][position]));
    return { ...sequence, referenceLogprobs };
  });
}
