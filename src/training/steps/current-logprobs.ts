// Old log-probabilities computed before the first step, in place of those that were recorded.
import { atTrained } from "../../trajectories/sequences.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import type { Trainer, TrainingSequence } from "../trainer.ts";

/** What the trainer gives now for the trained tokens of each sequence, in the order in which they come first. */
export async function currentLogprobs(
  trainer: Trainer,
  batches: readonly OptimizerBatch[],
  { signal }: { readonly signal: AbortSignal },
): Promise<readonly Float32Array[]> {
  const result: Float32Array[] = [];
  const computed = new Set<TrainingSequence>();
  for (const [index, batch] of batches.entries()) {
    const others = batch.filter((sequence) => !computed.has(sequence));
    if (others.length === 0) continue;
    const { logprobs } = await trainer.forward(others, { id: `forward ${index}`, signal });
    for (const sequence of others) computed.add(sequence);
    result.push(...logprobs);
  }
  return result;
}

/**
 * The same batches with these log-probabilities in place of what was recorded.
 *
 * @param logprobs as `currentLogprobs` gives them
 * @param truncation where above 0, each token counts for the ratio of the new to the recorded probability, up to this much:
 *   what was sampled by another policy is weighed as if it were of this one (truncated importance sampling, Ionides, 2008)
 */
export function withOldLogprobs(
  batches: readonly OptimizerBatch[],
  logprobs: readonly Float32Array[],
  { truncation }: { readonly truncation: number },
): readonly OptimizerBatch[] {
  const changed = new Map<TrainingSequence, TrainingSequence>();
  for (const sequence of batches.flat()) {
    if (changed.has(sequence)) continue;
    changed.set(sequence, withOldLogprobsOf(sequence, logprobs[changed.size], truncation));
  }
  return batches.map((batch) => batch.map((sequence) => changed.get(sequence) ?? sequence));
}

function withOldLogprobsOf(
  sequence: TrainingSequence,
  logprobs: Float32Array,
  truncation: number,
): TrainingSequence {
  const oldLogprobs = atTrained(sequence, logprobs);
  if (truncation === 0) return { ...sequence, oldLogprobs };
  const tokenWeights = oldLogprobs.map((old, at) =>
    truncatedRatio(old, sequence.oldLogprobs[at], truncation),
  );
  return { ...sequence, oldLogprobs, tokenWeights };
}

/** 1 where nothing was recorded, and at what does not train. */
function truncatedRatio(old: number, recorded: number, truncation: number): number {
  const ratio = Math.min(Math.exp(old - recorded), truncation);
  return Number.isNaN(ratio) ? 1 : ratio;
}
