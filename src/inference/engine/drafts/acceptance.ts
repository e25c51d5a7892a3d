// How often guesses of a choice come true, by how many tokens had matched before: every token of the answer says so of the guess
// before it, whether it was drafted or not, so that nothing has to be tried out.

/** Match lengths from which on guesses count together, with how often they come true before anything is known. */
const classes = [
  { from: 2, prior: 0.25 },
  { from: 3, prior: 0.4 },
  { from: 4, prior: 0.55 },
  { from: 6, prior: 0.7 },
  { from: 9, prior: 0.8 },
  { from: 16, prior: 0.9 },
] as const;

/** As much as so many guesses that were compared. */
const priorWeight = 4;
/** What is known fades by this with every guess of its class: an answer copies in some places, and not in others. */
const fading = 0.97;

export class Acceptance {
  readonly #right = classes.map(({ prior }) => prior * priorWeight);
  readonly #all = classes.map(() => priorWeight);

  note(matchLength: number, isRight: boolean): void {
    const place = classOf(matchLength);
    this.#right[place] = this.#right[place] * fading + (isRight ? 1 : 0);
    this.#all[place] = this.#all[place] * fading + 1;
  }

  /** How many tokens a step is expected to give whose drafts are the guess after a match: at 0 drafts 1, and so on. */
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
