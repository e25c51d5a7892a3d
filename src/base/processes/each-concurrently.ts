// Runs tasks for many items, some of them at the same time.

/**
 * Calls a function for each item, in order, at most `count` calls at a time. After an error, begins no further call.
 *
 * @throws the first error, once no call runs any more
 */
export async function eachConcurrently<Item>(
  items: readonly Item[],
  count: number,
  run: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const errors: unknown[] = [];
  const runInTurn = async (): Promise<void> => {
    for (const item of waiting) {
      if (errors.length > 0) return;
      await run(item).catch((error: unknown) => errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: count }, runInTurn));
  if (errors.length > 0) throw errors[0];
}
