// Divides examples into optimizer steps of a fixed size, epoch by epoch. Examples are the conversations of a supervised
// job, or the pairs or labelled answers of a preference job. The same examples and seed always give the same batches.
import { seededRandom, shuffled } from "../../../base/domain/random.ts";

export interface BatchOrder {
  /** Number of examples per batch; at least 1. */
  readonly batchSize: number;
  readonly epochCount: number;
  /** True to shuffle the examples of each epoch; false to keep their order. */
  readonly isShuffled: boolean;
}

/**
 * Divides the examples into batches. If they are shuffled, each epoch has its own order. The last batch of an epoch may
 * be smaller.
 *
 * @param key determines the random order; contains the job's seed
 */
export function cutIntoExampleBatches<Example>(
  examples: readonly Example[],
  { batchSize, epochCount, isShuffled }: BatchOrder,
  key: { readonly kind: string; readonly seed: string },
): readonly (readonly Example[])[] {
  const batches: (readonly Example[])[] = [];
  for (let epoch = 0; epoch < epochCount; epoch++) {
    const order = isShuffled
      ? shuffled(seededRandom(`${key.kind} epoch`, epoch, key.seed), examples)
      : examples;
    for (let start = 0; start < order.length; start += batchSize)
      batches.push(order.slice(start, start + batchSize));
  }
  return batches;
}
