// Estimates how often the drafter's guesses for a choice are right. The estimate depends on the match length: the
// number of latest tokens that also occur earlier. No trial drafts are needed, because each token of the answer shows
// whether its guess was right, even if the guess was not used as a draft.

/**
 * Classes of match lengths. Each class begins at its minimum length `from`, and ends before the next class begins. Its
 * prior acceptance rate applies until guesses are observed.
 */
const classes = [
  { from: 2, prior: 0.25 },
  { from: 3, prior: 0.4 },
  { from: 4, prior: 0.55 },
  { from: 6, prior: 0.7 },
  { from: 9, prior: 0.8 },
  { from: 16, prior: 0.9 },
] as const;

/** Weight of the prior rate, expressed as a number of observed guesses. */
const priorWeight = 4;
/**
 * Factor by which each new observation multiplies the weight of earlier observations in its class. Old observations
 * lose weight because only some passages of an answer are copies of earlier text.
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

  /**
   * Returns the expected number of tokens that a step yields, indexed by the length of its draft from 0 (always one
   * token) to `draftsMax`.
   */
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
