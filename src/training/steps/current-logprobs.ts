// Old log-probabilities computed before the first step, in place of those that were recorded.
import { trainedIndices } from "../../trajectories/sequences.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import type { Trainer } from "../trainer.ts";

/** What the trainer gives now for the trained tokens of each sequence, in the order of the batches. */
export async function currentLogprobs(
  trainer: Trainer,
  batches: readonly OptimizerBatch[],
  { signal }: { readonly signal: AbortSignal },
): Promise<readonly Float32Array[]> {
  const result: Float32Array[] = [];
  for (const [index, batch] of batches.entries()) {
    const { logprobs } = await trainer.forward(batch, { id: `forward ${index}`, signal });
    result.push(...logprobs);
  }
  return result;
}

/** The same batches with these log-probabilities in place of what was recorded. */
export function withOldLogprobs(
  batches: readonly OptimizerBatch[],
  logprobs: readonly Float32Array[],
): readonly OptimizerBatch[] {
  const remaining = logprobs.values();
  return batches.map((batch) =>
    batch.map((sequence) => {
      const { value: ofSequence = new Float32Array() } = remaining.next();
      const oldLogprobs = new Float32Array(sequence.mask.length).fill(NaN);
      trainedIndices(sequence).forEach((at, position) => (oldLogprobs[at] = ofSequence[position]));
      return { ...sequence, oldLogprobs };
    }),
  );
}
