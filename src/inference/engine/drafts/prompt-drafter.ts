// Chooses the draft tokens of a step: for each row its lookup's guess, as long as the acceptance rate and the cost of
// steps make it pay. Drafts change only the speed of an answer, never its tokens.
import type { Sequence } from "../loop/sequence.ts";
import { Acceptance } from "./acceptance.ts";
import type { Drafter } from "./drafter.ts";
import { PromptLookup } from "./prompt-lookup.ts";

/** Minimum expected gain of a step with drafts, because expectations are uncertain. */
const gainMin = 1.05;

/** Lookup and acceptance of one choice. */
interface Guesses {
  readonly lookup: PromptLookup;
  readonly acceptance: Acceptance;
}

export class PromptDrafter implements Drafter {
  readonly #tokensMax: number;
  readonly #costs: StepCosts;
  readonly #guesses = new WeakMap<Sequence, Guesses>();

  /** @param tokensMax maximum draft tokens per row and step */
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
    let [best, bestCount] = [gainMin * rows.length, 0];
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

/** Returns how many tokens may follow the next one. */
function furtherTokensMax({ answerTokenIds, running }: Sequence): number {
  return running.request.stopping.maxTokens - answerTokenIds.length - 1;
}

// Measured cost of a step with drafts relative to one without, which grows with each further row. Steps are compared
// with those shortly before, because contexts grow and a machine's load changes.

/** Before the first measurement: share of a step's time that a further row adds. */
const defaultRowCost = 0.1;
/** Bounds of a measured cost: a row costs something, and no more than a separate step. */
const rowCostLimits = { min: 0.01, max: 1 } as const;
/** Weight of a new measurement. */
const newWeight = 1 / 16;
/** A disturbed step without drafts counts as at most this many times the steps before. */
const longestFactor = 3;
/**
 * Decay of the estimate with each step without drafts: a wrong high estimate would otherwise prevent new measurements.
 */
const decay = 1 / 512;

export class StepCosts {
  /** Times of steps without drafts, by their rows. */
  readonly #plainMs: number[] = [];
  #rowCost = defaultRowCost;

  /** @param ms of a step of so many rows, one for each sequence */
  notePlain(rowCount: number, ms: number): void {
    const before = this.#plainMs[rowCount] ?? ms;
    this.#plainMs[rowCount] = before + newWeight * (Math.min(ms, longestFactor * before) - before);
    this.#rowCost += decay * (defaultRowCost - this.#rowCost);
  }

  /** @param ms of a step that computed `furtherCount` rows more than one for each of the sequences */
  noteDrafted(sequenceCount: number, furtherCount: number, ms: number): void {
    const plainMs = this.#plainMs[sequenceCount];
    if (plainMs === undefined) return;
    const { min, max } = rowCostLimits;
    const cost = Math.min(max, Math.max(min, (ms / plainMs - 1) / furtherCount));
    this.#rowCost += newWeight * (cost - this.#rowCost);
  }

  /** Returns the time of a step with so many further rows, relative to one without. */
  relative(furtherCount: number): number {
    return 1 + this.#rowCost * furtherCount;
  }
}
