// Splits the events of a generation into chunks, between which the event loop handles other work. Converting all
// waiting events to text in one turn would block the event loop.
import type { GenerationEvent } from "../../../base/domain/generation.ts";

/** Maximum numbers of events and of log-probabilities in a chunk. Each log-probability is decoded to text. */
const eventsMax = 16;
const logprobsMax = 512;

/**
 * Splits a batch of events into chunks, each of which is read in one turn of the event loop. The finish of a choice is
 * always in the same chunk as the choice's last tokens.
 *
 * @param logprobCount number of log-probabilities of each token, including those of its alternatives
 */
export function* splitIntoChunks(
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
