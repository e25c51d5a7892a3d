// Work on many things, some of them at once.

/** How many requests of one artifact are sent at once. */
const requestsMax = 4;

/** Does the work on each, a few at once; after a fault none is begun any more, and it is thrown when all have ended. */
export async function eachAtOnce<Item>(
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
