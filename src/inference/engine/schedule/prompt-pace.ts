// How much of a step's time prompts may take, by who waits for them and who waits because of them.

/** What an owner has in the engine. */
export interface OwnerLoad {
  /** Rows, each of which waits for its next token. */
  readonly rowCount: number;
  /** Choices that wait for their prompt. */
  readonly promptedCount: number;
}

/**
 * The time that prompts may take, in times the time of the rows' own step. Together with it a step takes 2.5 times as long as
 * one without prompts, which leaves room up to the 3 times that readers of a stream put up with.
 */
const promptTimes = 1.5;

/** Choices that wait for prompts, for each of an owner's rows, from which on its rows wait longer. */
const burstPart = 0.25;

/**
 * Rows wait for prompts no longer than {@link promptTimes} says, unless everyone who has rows has so many choices that wait
 * for prompts: who starts many at once wants them all to begin, and few rows a step are computed at a bad rate. It grows with
 * the square, so that a burst has begun within few steps and little of it is left to steps of the usual pace.
 *
 * @param decodeMs what the rows take of this step
 * @returns milliseconds; Infinity where there are no rows
 */
export function promptMsMax(decodeMs: number, owners: Iterable<OwnerLoad>): number {
  let least = Infinity;
  for (const { rowCount, promptedCount } of owners)
    if (rowCount > 0) least = Math.min(least, promptedCount / rowCount);
  return least === Infinity ? Infinity : promptTimes * Math.max(1, (least / burstPart) ** 2) * decodeMs;
}
