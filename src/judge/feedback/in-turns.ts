// Work on many records with turns for others in between: no request holds up the process.
import type { Clock } from "../../base/domain/clock.ts";
import { loopTurns } from "../../base/domain/sharing/loop-turns.ts";

/** After so long other work of the process gets a turn: as long as the turns of one round of the event loop take in all. */
const turnMs = 2;

/** As `map`. */
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
