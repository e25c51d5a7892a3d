// Processes many records while yielding to other work, so that no request blocks the process.
import type { Clock } from "../../base/domain/clock.ts";
import { loopTurns } from "../../base/domain/sharing/loop-turns.ts";

/** Time after which other work gets a turn, equal to that of all turns in one round of the event loop. */
const turnMs = 2;

/** As `map`, with pauses. */
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
