// Runs work on many items, on a limited number of them at the same time.

/** Maximum number of concurrent requests for one artifact. */
const requestsMax = 4;

/**
 * Runs `work` on each item, on a few at the same time. After an error, starts no more work, and throws the error once
 * all running work has ended.
 */
export async function forEachConcurrently<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const faults: unknown[] = [];
  for await (const item of items) {
    if (faults.length > 0) break;
    const one = work(item)
      .catch((error: unknown) => void faults.push(error))
      .finally(() => running.delete(one));
    running.add(one);
    if (running.size >= requestsMax) await Promise.race(running);
  }
  await Promise.all(running);
  if (faults.length > 0) throw faults[0];
}
