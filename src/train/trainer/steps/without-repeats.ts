/**
 * Removes from each batch the items that already occur in an earlier batch or in `excluded`. Batches without other
 * items stay, empty.
 */
export function withoutRepeats<Item>(
  batches: readonly (readonly Item[])[],
  excluded: readonly Item[] = [],
): readonly (readonly Item[])[] {
  const known = new Set(excluded);
  return batches.map((batch) =>
    batch.filter((item) => {
      const isNew = !known.has(item);
      known.add(item);
      return isNew;
    }),
  );
}
