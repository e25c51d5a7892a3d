// Which examples share an optimizer step where each step has so many, epoch by epoch: of supervised jobs conversations, of
// preference jobs pairs or judged answers. The same examples and seed always give the same batches.
import { seededRandom, shuffled } from "../../../base/domain/random.ts";

export interface BatchOrder {
  /** Examples of one batch; at least 1. */
  readonly batchSize: number;
  readonly epochCount: number;
  /** Whether the seed decides the order, another one in each epoch; else it is the order given. */
  readonly isShuffled: boolean;
}

/**
 * Each epoch in an order of its own, its last batch as short as it comes.
 *
 * @param key of the random order, the job's seed in it
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
