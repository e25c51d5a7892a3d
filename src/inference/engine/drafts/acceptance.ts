// Estimates how often guesses for a choice are right, by match length. Each token of the answer shows whether the
// guess before it was right, drafted or not, so no trial drafts are needed.

/** Classes of match lengths, each with its prior acceptance rate. */
const classes = [
  { from: 2, prior: 0.25 },
  { from: 3, prior: 0.4 },
  { from: 4, prior: 0.55 },
  { from: 6, prior: 0.7 },
  { from: 9, prior: 0.8 },
  { from: 16, prior: 0.9 },
] as const;

/** Weight of the prior, as a number of compared guesses. */
const priorWeight = 4;
/**
 * Factor by which each guess of a class decays earlier observations of the class, because some places of an answer are
 * copies and others are not.
 */
const decay = 0.97;

export class Acceptance {
  readonly #right = classes.map(({ prior }) => prior * priorWeight);
  readonly #all = classes.map(() => priorWeight);

  note(matchLength: number, isRight: boolean): void {
    const place = classOf(matchLength);
    this.#right[place] = this.#right[place] * decay + (isRight ? 1 : 0);
    this.#all[place] = this.#all[place] * decay + 1;
  }

  /** Returns the expected number of tokens of a step for each draft length from 0 (one token) to `draftsMax`. */
  expectedTokens(matchLength: number, draftsMax: number): readonly number[] {
    const expected = [1];
    let chance = matchLength === 0 ? 0 : 1;
    for (let draft = 0; draft < draftsMax; draft++) {
      const place = classOf(matchLength + draft);
      chance *= this.#right[place] / this.#all[place];
      expected.push(expected[draft] + chance);
    }
    return expected;
  }
}

function classOf(matchLength: number): number {
  return Math.max(
    0,
    classes.findLastIndex(({ from }) => matchLength >= from),
  );
}
