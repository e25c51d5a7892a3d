// Processes many records in short turns, so that a large request does not block other work of the process.
import type { Clock } from "../../base/domain/clock.ts";
import { loopTurns } from "../../base/domain/sharing/loop-turns.ts";

/**
 * Duration of a turn in milliseconds. After each turn, other work of the process can run. In one iteration of the event
 * loop, all turns together also get at most this time.
 */
const turnMs = 2;

/** Maps items like `Array.map`, but lets other work run between turns. */
export async function inTurns<Item, Result>(
  items: Iterable<Item>,
  work: (item: Item, index: number) => Result,
  { clock, tenant }: { readonly clock: Clock; readonly tenant: string },
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let endMs = clock.monotonicMs() + turnMs;
  for (const item of items) {
    results.push(work(item, results.length));
    if (clock.monotonicMs() < endMs) continue;
    await loopTurns.next(tenant);
    endMs = clock.monotonicMs() + turnMs;
  }
  return results;
}
