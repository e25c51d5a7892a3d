// A drafter for tests. It knows the answers, and drafts a random number of right tokens followed by random tokens.
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import type { Random } from "../../../base/domain/random.ts";
import type { Drafter } from "../drafts/drafter.ts";
import type { Sequence } from "../loop/sequence.ts";

export class KnownDrafter implements Drafter {
  readonly #random: Random;
  readonly #answersOf: (request: GenerationRequest) => readonly (readonly number[])[];
  readonly #vocabularySize: number;
  /** Number of steps with drafts. */
  stepCount = 0;

  /** @param answersOf returns the tokens of each choice of a request, as computed without drafts */
  constructor(
    random: Random,
    vocabularySize: number,
    answersOf: (request: GenerationRequest) => readonly (readonly number[])[],
  ) {
    this.#random = random;
    this.#vocabularySize = vocabularySize;
    this.#answersOf = answersOf;
  }

  draftsFor(rows: readonly Sequence[]): readonly (readonly number[])[] {
    return rows.map(({ running: { request }, choice, answerTokenIds }) => {
      const known = this.#answersOf(request)[choice] ?? [];
      const next = answerTokenIds.length;
      const countMax = Math.min(6, request.stopping.maxTokens - next - 1);
      const count = countMax > 0 ? this.#random.index(countMax + 1) : 0;
      const rightCount = this.#random.index(8);
      return Array.from({ length: count }, (_, place) =>
        place < rightCount && next + place < known.length
          ? known[next + place]
          : this.#random.index(this.#vocabularySize),
      );
    });
  }

  noteStep(drafts: readonly (readonly number[])[]): void {
    if (drafts.some(({ length }) => length > 0)) this.stepCount += 1;
  }
}
