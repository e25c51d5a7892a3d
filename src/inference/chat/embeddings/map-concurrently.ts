// Maps items concurrently, with a limit. The first failure aborts the work on all other items.
import { setMaxListeners } from "node:events";

/**
 * Maps items with `work`, at most `concurrencyMax` at a time.
 *
 * @param work gets a signal that aborts as soon as the work on another item has failed
 * @returns the results in the order of the items
 * @throws the first error, after all work that has started has ended
 */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  { concurrencyMax, signal }: { readonly concurrencyMax: number; readonly signal: AbortSignal },
  work: (item: Item, index: number, signal: AbortSignal) => Promise<Result>,
): Promise<readonly Result[]> {
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  // Turns off the warning about many listeners, because each running item adds one on purpose.
  setMaxListeners(0, both);
  const results: Result[] = [];
  const failures: unknown[] = [];
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < items.length && !both.aborted) {
      const index = next++;
      try {
        results[index] = await work(items[index], index, both);
      } catch (error) {
        failures.push(error);
        ending.abort();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrencyMax, items.length) }, run));
  if (failures.length > 0) throw failures[0];
  signal.throwIfAborted();
  return results;
}
