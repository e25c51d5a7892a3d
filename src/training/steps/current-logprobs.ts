// Old log-probabilities computed before the first step, in place of those that were recorded.
import { trainedIndices } from "../../trajectories/sequences.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import type { Trainer } from "../trainer.ts";

/** The same batches with what the model gives now in place of what was recorded. */
export async function withCurrentLogprobs(
  trainer: Trainer,
  batches: readonly OptimizerBatch[],
  { signal }: { readonly signal: AbortSignal },
): Promise<readonly OptimizerBatch[]> {
  const result: OptimizerBatch[] = [];
  for (const [index, batch] of batches.entries()) {
    const { logprobs } = await trainer.forward(batch, { id: `forward ${index}`, signal });
    result.push(
      batch.map((sequence, row) => {
        const oldLogprobs = new Float32Array(sequence.mask.length).fill(NaN);
        trainedIndices(sequence).forEach((at, position) => (oldLogprobs[at] = logprobs[row][position]));
        return { ...sequence, oldLogprobs };
      }),
    );
  }
  return result;
}
