// Chooses the draft tokens of a step: for each row, the guess of its prompt lookup, if the acceptance rate outweighs
// the cost. Drafts change only the speed of an answer, never its tokens.
import type { Sequence } from "../loop/sequence.ts";
import { Acceptance } from "./acceptance.ts";
import type { Drafter } from "./drafter.ts";
import { PromptLookup } from "./prompt-lookup.ts";

/** Minimum expected gain of a step with drafts, because expectations are uncertain. */
const gainMin = 1.05;

/** Prompt lookup and acceptance estimate of one choice. */
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

/** Returns the maximum number of tokens that may follow the next one. */
function furtherTokensMax({ answerTokenIds, running }: Sequence): number {
  return running.request.stopping.maxTokens - answerTokenIds.length - 1;
}

// Measured cost of a step with drafts relative to a step without; it grows with each additional row. Steps are
// compared with recent ones, because contexts grow and a machine's load changes.

/** Share of a step's time that an additional row takes, until it is measured. */
const defaultRowCost = 0.1;
/** Bounds of a measured cost: an additional row costs something, but no more than a separate step. */
const rowCostLimits = { min: 0.01, max: 1 } as const;
/** Weight of a new measurement. */
const newWeight = 1 / 16;
/** Maximum time of a disturbed step without drafts, as a multiple of the preceding steps' time. */
const longestFactor = 3;
/**
 * Decay of the estimate with each step without drafts. Without it, an estimate that is too high would prevent new
 * measurements.
 */
const decay = 1 / 512;

export class StepCosts {
  /** Times of steps without drafts, by their number of rows. */
  readonly #plainMs: number[] = [];
  #rowCost = defaultRowCost;

  /** @param ms time of a step with `rowCount` rows, one for each sequence */
  notePlain(rowCount: number, ms: number): void {
    const before = this.#plainMs[rowCount] ?? ms;
    this.#plainMs[rowCount] = before + newWeight * (Math.min(ms, longestFactor * before) - before);
    this.#rowCost += decay * (defaultRowCost - this.#rowCost);
  }

  /** @param ms time of a step that computed one row for each sequence and `furtherCount` additional rows */
  noteDrafted(sequenceCount: number, furtherCount: number, ms: number): void {
    const plainMs = this.#plainMs[sequenceCount];
    if (plainMs === undefined) return;
    const { min, max } = rowCostLimits;
    const cost = Math.min(max, Math.max(min, (ms / plainMs - 1) / furtherCount));
    this.#rowCost += newWeight * (cost - this.#rowCost);
  }

  /** Returns the time of a step with `furtherCount` additional rows, relative to a step without. */
  relative(furtherCount: number): number {
    return 1 + this.#rowCost * furtherCount;
  }
}
