// Chooses the draft tokens of a step. Each row gets the guess of its prompt lookup if the expected gain outweighs the
// cost of verifying it. Drafts change only the speed of an answer, never its tokens.
import type { Sequence } from "../loop/sequence.ts";
import { Acceptance } from "./acceptance.ts";
import type { Drafter } from "./drafter.ts";
import { PromptLookup } from "./prompt-lookup.ts";

/** Minimum expected speedup of a step with drafts. Above 1, because the expectation is uncertain. */
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

  /** @param tokensMax maximum number of draft tokens per row and step */
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

/**
 * Returns the maximum number of tokens that the answer may still have after its next token; a draft must not be longer.
 */
function furtherTokensMax({ answerTokenIds, running }: Sequence): number {
  return running.request.stopping.maxTokens - answerTokenIds.length - 1;
}

// Measured cost of a step with drafts, relative to a step without. The cost grows with each additional row, since a
// draft token is computed as a row. A step is compared only with recent steps, because contexts grow and the machine's
// load changes.

/** Time that an additional row takes, as a fraction of the step's time; the default until the cost is measured. */
const defaultRowCost = 0.1;
/**
 * Bounds of the measured cost of an additional row, as fractions of a step's time. The true cost is above zero and at
 * most that of a separate step.
 */
const rowCostLimits = { min: 0.01, max: 1 } as const;
/** Weight of a new measurement in the running averages. */
const newWeight = 1 / 16;
/**
 * Limit for the measured time of a step without drafts, as a multiple of the average of earlier steps. Other load on
 * the machine may cause longer times; they count as this multiple.
 */
const longestFactor = 3;
/**
 * Fraction by which each step without drafts moves the measured cost back to the default. Otherwise a cost that was
 * measured too high would prevent drafts, and thereby any new measurement, forever.
 */
const decay = 1 / 512;

export class StepCosts {
  /** Average times of steps without drafts in milliseconds, indexed by their number of rows. */
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

  /** Returns the time of a step with `furtherCount` additional rows, relative to a step without additional rows. */
  relative(furtherCount: number): number {
    return 1 + this.#rowCost * furtherCount;
  }
}
