// The sequences that a job computes before its first step and after its last: to see whether recorded log-probabilities are
// the policy's, whether the model still gives finite numbers, and how far it has moved. Pure.
import type { PlannedBatch, PlannedSequence } from "../data/planned-sequence.ts";

/** The shortest sequence of a job, which costs least; none without batches. */
export function shortestOf(batches: readonly PlannedBatch[]): PlannedBatch {
  const [first, ...others] = batches.flat();
  if (first === undefined) return [];
  return [others.reduce((one, other) => (other.tokenCount < one.tokenCount ? other : one), first)];
}

/** Few tokens say little of a mean, and a check of many takes noticeably longer than a step. */
const [tokensMin, tokensMax] = [128, 1024];

/** Share of a job's tokens between these bounds. */
const tokenShare = 0.1;

/** Sequences from all over a job, up to a tenth of its tokens; at least one where there are batches. */
export function sampleOf(batches: readonly PlannedBatch[]): PlannedBatch {
  const sequences = [...new Set(batches.flat())];
  const tokenCount = sequences.reduce((sum, sequence) => sum + sequence.tokenCount, 0);
  const wanted = Math.min(Math.max(tokenShare * tokenCount, tokensMin), tokensMax);
  const count = Math.ceil((sequences.length * wanted) / Math.max(tokenCount, 1));
  const sample: PlannedSequence[] = [];
  let sampledTokens = 0;
  for (let index = 0; index < Math.min(count, sequences.length); index++) {
    const sequence = sequences[Math.floor((index * sequences.length) / Math.min(count, sequences.length))];
    if (sample.length > 0 && sampledTokens + sequence.tokenCount > tokensMax) continue;
    sample.push(sequence);
    sampledTokens += sequence.tokenCount;
  }
  return sample;
}
