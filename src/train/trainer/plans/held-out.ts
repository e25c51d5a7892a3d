// Chooses a job's held-out data, on which the job does not train, and the steps after which the loss on it is measured.
import type { PlannedBatch } from "../data/optimizer-batches.ts";

/** Held-out sequences of a job, and when the loss on them is measured. */
export interface HeldOut {
  /** Held-out sequences, in batches of at most the size of a step. */
  readonly batches: readonly PlannedBatch[];
  /** 0-based indices of the steps that end an epoch, after which the loss is measured. */
  readonly stepIndices: ReadonlySet<number>;
}

/** An example of a supervised or preference job; it has no sequences if it was dropped. */
interface Held {
  readonly sequences: PlannedBatch;
}

/**
 * Returns the held-out data of a job; null if there are no sequences, or no steps.
 *
 * @param epochs for each step, the 0-based index of its epoch
 */
export function heldOutOf(
  examples: readonly Held[],
  { batchSize, epochs }: { readonly batchSize: number; readonly epochs: readonly number[] },
): HeldOut | null {
  const kept = examples.filter(({ sequences }) => sequences.length > 0);
  if (kept.length === 0 || epochs.length === 0) return null;
  const batches = Array.from({ length: Math.ceil(kept.length / batchSize) }, (_, index) =>
    kept.slice(index * batchSize, (index + 1) * batchSize).flatMap(({ sequences }) => sequences),
  );
  const ends = epochs.flatMap((epoch, index) => (epochs[index + 1] === epoch ? [] : [index]));
  return { batches, stepIndices: new Set(ends) };
}
