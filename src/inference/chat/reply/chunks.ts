// Cuts the events of a generation into portions, between which the event loop serves others: detokenizing all that has
// gathered at once would hold them up.
import type { GenerationEvent } from "../../../base/domain/generation.ts";

/** How many events make a portion, and after how many log-probabilities it takes no more: each is made a text. */
const eventsMax = 16;
const logprobsMax = 512;

/**
 * Cuts a batch into portions, each of which is read at once; a finish stays with its choice's last tokens.
 *
 * @param logprobCount log-probabilities of each token, its alternatives' among them
 */
export function* portionsOf(
  batch: readonly GenerationEvent[],
  logprobCount: number,
): Generator<readonly GenerationEvent[], void> {
  let start = 0;
  let eventCount = 0;
  let logprobs = 0;
  for (const [index, event] of batch.entries()) {
    if (event.kind === "choice-finished") continue;
    if (eventCount >= eventsMax || logprobs >= logprobsMax) {
      yield batch.slice(start, index);
      [start, eventCount, logprobs] = [index, 0, 0];
    }
    eventCount += 1;
    if (event.kind === "tokens") logprobs += event.tokens.length * logprobCount;
  }
  yield start === 0 ? batch : batch.slice(start);
}
