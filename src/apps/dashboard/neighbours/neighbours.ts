// Finds the rows before and after a row of a list. Has no side effects of its own.

/** Ids of the rows before and after a row; null at the ends of the list. */
export interface Neighbours {
  readonly previous: string | null;
  readonly next: string | null;
}

/** Returns the neighbours of a row among the ids of a list; null if the list does not contain the row. */
export function neighboursAmong(ids: readonly string[], id: string): Neighbours | null {
  const index = ids.indexOf(id);
  if (index === -1) return null;
  return { previous: ids[index - 1] ?? null, next: ids[index + 1] ?? null };
}
