// Old log-probabilities computed before the first step, in place of those that were recorded.
import { atTrained } from "../../trajectories/sequences.ts";
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

/**
 * The same batches with these log-probabilities in place of what was recorded.
 *
 * @param truncation where above 0, each token counts for the ratio of the new to the recorded probability, up to this much:
 *   what was sampled by another policy is weighed as if it were of this one (truncated importance sampling, Ionides, 2008)
 */
export function withOldLogprobs(
  batches: readonly OptimizerBatch[],
  logprobs: readonly Float32Array[],
  { truncation }: { readonly truncation: number },
): readonly OptimizerBatch[] {
  const remaining = logprobs.values();
  return batches.map((batch) =>
    batch.map((sequence) => {
      const { value: ofSequence = new Float32Array() } = remaining.next();
      const oldLogprobs = atTrained(sequence, ofSequence);
      if (truncation === 0) return { ...sequence, oldLogprobs };
      const tokenWeights = oldLogprobs.map((old, at) =>
        truncatedRatio(old, sequence.oldLogprobs[at], truncation),
      );
      return { ...sequence, oldLogprobs, tokenWeights };
    }),
  );
}

/** 1 where nothing was recorded, and at what does not train. */
function truncatedRatio(old: number, recorded: number, truncation: number): number {
  const ratio = Math.min(Math.exp(old - recorded), truncation);
  return Number.isNaN(ratio) ? 1 : ratio;
}
