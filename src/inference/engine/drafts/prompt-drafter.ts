// Decides which tokens are drafted in a step: for each row the guess of its lookup, as far as it is expected to pay by how often
// such guesses came true and by what steps cost. The answer is the same whatever is drafted; only its speed is not.
import type { Sequence } from "../loop/sequence.ts";
import { Acceptance } from "./acceptance.ts";
import type { Drafter } from "./drafter.ts";
import { PromptLookup } from "./prompt-lookup.ts";

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

// What a step with drafts costs beside one without, as it was measured: more for each further row. The steps of a moment are
// compared with those shortly before, since a context grows and a machine has other work to do.

/** Before anything was measured: the part of a step's time that a further row adds. */
const rowCostBefore = 0.1;
/** Whatever was measured: a row costs something, and no more than a step of its own. */
const rowCostLimits = { min: 0.01, max: 1 } as const;
/** The weight of a new measurement. */
const newWeight = 1 / 16;
/** A step without drafts that something disturbed counts as one that took so much longer than those before. */
const longestFactor = 3;
/** What was measured fades with each step without drafts, since one that was measured wrongly might never be measured again. */
const fading = 1 / 512;

export class StepCosts {
  /** Of steps without drafts, by their rows. */
  readonly #plainMs: number[] = [];
  #rowCost = rowCostBefore;

  /** @param ms of a step of so many rows, one for each sequence */
  notePlain(rowCount: number, ms: number): void {
    const before = this.#plainMs[rowCount] ?? ms;
    this.#plainMs[rowCount] = before + newWeight * (Math.min(ms, longestFactor * before) - before);
    this.#rowCost += fading * (rowCostBefore - this.#rowCost);
  }

  /** @param ms of a step that computed `furtherCount` rows more than one for each of the sequences */
  noteDrafted(sequenceCount: number, furtherCount: number, ms: number): void {
    const plainMs = this.#plainMs[sequenceCount];
    if (plainMs === undefined) return;
    const { min, max } = rowCostLimits;
    const cost = Math.min(max, Math.max(min, (ms / plainMs - 1) / furtherCount));
    this.#rowCost += newWeight * (cost - this.#rowCost);
  }

  /** The time of a step with so many further rows, where one without takes 1. */
  relative(furtherCount: number): number {
    return 1 + this.#rowCost * furtherCount;
  }
}
