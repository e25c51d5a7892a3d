// Splits the events of a generation into chunks, between which the event loop serves others. Detokenizing all gathered
// events in one turn would block them.
import type { GenerationEvent } from "../../../base/domain/generation.ts";

/** Limits of a chunk: events, and log-probabilities, each of which becomes a text. */
const eventsMax = 16;
const logprobsMax = 512;

/**
 * Splits a batch into chunks that are read in one turn; a finish stays with its choice's last tokens.
 *
 * @param logprobCount log-probabilities of each token, including its alternatives
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
