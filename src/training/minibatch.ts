// Which sequences share a gradient step. Sequences of like length go together, so that little is padding; the
// order of the steps is shuffled. The same sequences and seed always give the same minibatches.
import { seededRandom, shuffled } from "../domain/random.ts";
import type { TokenSequence } from "../trajectories/sequences.ts";

/** A sequence with what its trajectory earned, weighed over the whole job. */
export interface TrainingSequence extends TokenSequence {
  readonly advantage: number;
  readonly weight: number;
}

export type Minibatch = readonly TrainingSequence[];

/**
 * Cuts the job's sequences into minibatches of at most `tokenBudget` tokens, padding included.
 *
 * @param tokenBudget a minibatch's rows times its longest row stays within this, unless one sequence alone exceeds it
 * @param seed the job's, so that a repeated attempt takes the same steps
 */
export function cutIntoMinibatches(
  sequences: readonly TrainingSequence[],
  { tokenBudget, seed }: { readonly tokenBudget: number; readonly seed: string },
): Minibatch[] {
  const random = seededRandom("minibatches", seed);
  // Sorting is stable: sequences of one length stay in their shuffled order.
  const sorted = shuffled(random, sequences).sort(
    (left, right) => right.tokenIds.length - left.tokenIds.length,
  );
  const minibatches: TrainingSequence[][] = [];
  let current: TrainingSequence[] = [];
  for (const sequence of sorted) {
    const longest = current[0]?.tokenIds.length ?? 0;
    if (current.length > 0 && longest * (current.length + 1) > tokenBudget) {
      minibatches.push(current);
      current = [];
    }
    current.push(sequence);
  }
  if (current.length > 0) minibatches.push(current);
  return shuffled(random, minibatches);
}
