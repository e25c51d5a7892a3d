// What of a job decides how much memory it needs, gathered batch by batch, so that looking at a job takes no more memory than
// a batch of it: those rounds that may need the most, and what the plan and the largest batch hold beside them.
import { packKinds } from "../packing/packs.ts";
import type { TrainingSequence } from "../trainer.ts";
import type { Round } from "./feeds.ts";
import { largestOf } from "./memory-limit.ts";

/** What a plan holds for a sequence of a step: its place on disk, its weight, where it came from. */
const plannedBytes = 400;

/**
 * What a step holds for a token of its batch: the id, whether it trains, its log-probabilities of several kinds, and what
 * metrics make of them.
 */
const tokenBytes = 40;

export class MemoryNeeds {
  /** By the kind of the rounds and how many microbatches each has. */
  readonly #largest = new Map<string, readonly Round[]>();
  #sequenceCount = 0;
  #tokenCountMax = 0;

  /** @param rounds in which the batch is computed */
  add(batch: readonly TrainingSequence[], rounds: readonly Round[]): void {
    const tokenCount = batch.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
    this.#sequenceCount += batch.length;
    this.#tokenCountMax = Math.max(this.#tokenCountMax, tokenCount);
    for (const round of rounds) {
      const key = `${round[0].kind} ${round.length}`;
      this.#largest.set(key, largestOf([...(this.#largest.get(key) ?? []), round]));
    }
  }

  /** Those that may need the most, apart for each program and each number of microbatches that are computed at once. */
  get rounds(): readonly { readonly layout: Round[number]["kind"]; readonly largest: readonly Round[] }[] {
    return packKinds.flatMap((layout) =>
      [...this.#largest.values()]
        .filter(([[{ kind }]]) => kind === layout)
        .map((largest) => ({ layout, largest })),
    );
  }

  /** What a process holds of the job's data at most. */
  get dataBytes(): number {
    return plannedBytes * this.#sequenceCount + tokenBytes * this.#tokenCountMax;
  }
}
