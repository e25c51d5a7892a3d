// Computes log-probabilities before the first step, which then replace the recorded ones as old log-probabilities.
import { atTrained } from "../../trajectories/sequences.ts";
import type { OptimizerBatch, PlannedBatch, PlannedSequence } from "../data/optimizer-batches.ts";
import type { TrainingPlan } from "../plans/plan.ts";
import type { Trainer, TrainingSequence } from "../trainer.ts";

/**
 * Computes the log-probabilities of each sequence's trained tokens under the current policy. The result is in the order
 * in which the sequences first appear in the batches.
 */
export async function currentLogprobs(
  trainer: Trainer,
  { batches, read }: Pick<TrainingPlan, "batches" | "read">,
  { signal }: { readonly signal: AbortSignal },
): Promise<readonly Float32Array[]> {
  const result: Float32Array[] = [];
  const computed = new Set<PlannedSequence>();
  for (const [index, batch] of batches.entries()) {
    const others = batch.filter((sequence) => !computed.has(sequence));
    if (others.length === 0) continue;
    const { logprobs } = await trainer.forward(read(others), { id: `forward ${index}`, signal });
    for (const sequence of others) computed.add(sequence);
    result.push(...logprobs);
  }
  return result;
}

/**
 * Assigns the log-probabilities to their sequences. `logprobs` is in the order in which the sequences first appear in
 * the batches.
 */
export function bySequence(
  batches: readonly PlannedBatch[],
  logprobs: readonly Float32Array[],
): ReadonlyMap<PlannedSequence, Float32Array> {
  const known = new Map<PlannedSequence, Float32Array>();
  for (const batch of batches)
    for (const sequence of batch) if (!known.has(sequence)) known.set(sequence, logprobs[known.size]);
  return known;
}

/**
 * Replaces the old log-probabilities of a batch.
 *
 * @param logprobs new values for each sequence's trained tokens
 * @param truncation if above 0, the upper limit of a token's importance weight (its new probability divided by its
 * recorded one). This truncated importance sampling (Ionides, 2008) corrects for tokens that another policy sampled
 */
export function withOldLogprobs(
  batch: OptimizerBatch,
  logprobs: readonly Float32Array[],
  { truncation }: { readonly truncation: number },
): OptimizerBatch {
  return batch.map((sequence, row) => withOldLogprobsOf(sequence, logprobs[row], truncation));
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

/**
 * Returns a token's new probability divided by its recorded one, but at most `truncation`. Returns 1 for tokens that
 * were not recorded or are not trained on.
 */
function truncatedRatio(old: number, recorded: number, truncation: number): number {
  const ratio = Math.min(Math.exp(old - recorded), truncation);
  return Number.isNaN(ratio) ? 1 : ratio;
}
