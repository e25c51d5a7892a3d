// Does the same for each of many rows, a few at a time. The page shows the progress, and the user can stop.
import { signal } from "@preact/signals";

export interface Steps {
  readonly done: number;
  readonly total: number;
  readonly stop: () => void;
}

/** Progress of the running action; null if none is running. */
export const steps = signal<Steps | null>(null);

/** Number of requests at the same time. */
const atOnce = 4;

/**
 * Returns the results of an action on each row, in the order of the rows.
 *
 * @throws Error if the user stops it, or the first error of the action; the remaining rows are then left out
 */
export async function inSteps<Row, Result>(
  rows: readonly Row[],
  act: (row: Row) => Promise<Result>,
): Promise<readonly Result[]> {
  const results = new Map<number, Result>();
  const waiting = rows.entries();
  let isStopped = false;
  const show = (): void => {
    steps.value = { done: results.size, total: rows.length, stop: () => (isStopped = true) };
  };
  const work = async (): Promise<void> => {
    // The workers share one iterator, so each takes the next row that no other has taken.
    for (const [place, row] of waiting) {
      results.set(place, await act(row));
      show();
      if (isStopped) return;
    }
  };
  show();
  try {
    await Promise.all(Array.from({ length: atOnce }, work));
  } finally {
    isStopped = true;
    steps.value = null;
  }
  if (results.size < rows.length) throw new Error(`Stopped after ${results.size} of ${rows.length}.`);
  return rows.flatMap((_, place) => {
    const result = results.get(place);
    return result === undefined ? [] : [result];
  });
}

/** Splits rows into parts of at most `countMax` rows. */
export function inParts<Row>(rows: readonly Row[], countMax: number): readonly (readonly Row[])[] {
  return Array.from({ length: Math.ceil(rows.length / countMax) }, (_, index) =>
    rows.slice(index * countMax, (index + 1) * countMax),
  );
}
