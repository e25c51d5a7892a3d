// Decides which tokens are drafted in a step: for each row the guess of its lookup, as far as it is expected to pay by how often
// such guesses came true and by what steps cost. The answer is the same whatever is drafted; only its speed is not.
import type { Sequence } from "../loop/sequence.ts";
import { Acceptance } from "./acceptance.ts";
import type { Drafter } from "./drafter.ts";
import { PromptLookup } from "./prompt-lookup.ts";
import { StepCosts } from "./step-costs.ts";

/** A step with drafts has to promise so much more in the same time: what is expected is not what comes. */
const leastGain = 1.05;

/** What is known of one choice. */
interface Guesses {
  readonly lookup: PromptLookup;
  readonly acceptance: Acceptance;
}

export class PromptDrafter implements Drafter {
  readonly #tokensMax: number;
  readonly #costs: StepCosts;
  readonly #guesses = new WeakMap<Sequence, Guesses>();

  /** @param tokensMax of each row and step */
  constructor(tokensMax: number, costs = new StepCosts()) {
    this.#tokensMax = tokensMax;
    this.#costs = costs;
  }

  draftsFor(rows: readonly Sequence[]): readonly (readonly number[])[] {
    const states = rows.map((row) => {
      const { lookup, acceptance } = this.#guessesOf(row);
      lookup.follow();
      const { matchLength } = lookup;
      const countMax = matchLength === 0 ? 0 : Math.min(this.#tokensMax, furtherTokensMax(row));
      return { lookup, countMax, expected: acceptance.expectedTokens(matchLength, countMax) };
    });
    let [best, bestCount] = [leastGain * rows.length, 0];
    for (let count = 1; count <= Math.max(...states.map(({ countMax }) => countMax)); count++) {
      const expected = states.reduce(
        (sum, state) => sum + state.expected[Math.min(count, state.countMax)],
        0,
      );
      const speed = expected / this.#costs.relative(count * rows.length);
      if (speed > best) [best, bestCount] = [speed, count];
    }
    return states.map(({ lookup, countMax }) => lookup.guess(Math.min(bestCount, countMax)));
  }

  noteStep(drafts: readonly (readonly number[])[], ms: number): void {
    const sequenceCount = drafts.length;
    const furtherCount = sequenceCount * Math.max(...drafts.map(({ length }) => length));
    if (furtherCount === 0) this.#costs.notePlain(sequenceCount, ms);
    else this.#costs.noteDrafted(sequenceCount, furtherCount, ms);
  }

  #guessesOf(row: Sequence): Guesses {
    const known = this.#guesses.get(row);
    if (known !== undefined) return known;
    const acceptance = new Acceptance();
    const lookup = new PromptLookup(row.history, row.positionCountMax, (matchLength, isRight) =>
      acceptance.note(matchLength, isRight),
    );
    const guesses = { lookup, acceptance };
    this.#guesses.set(row, guesses);
    return guesses;
  }
}

/** How many tokens may follow the next one. */
function furtherTokensMax({ answerTokenIds, running }: Sequence): number {
  return running.request.stopping.maxTokens - answerTokenIds.length - 1;
}
