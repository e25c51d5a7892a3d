// The tokens of a choice so far, and how often it has each. Counted when it is first asked for and from then on token by
// token, so that a choice whose steps never ask pays nothing.

/** A prompt, which the choices of a request share. */
export class PromptTokens {
  readonly ids: readonly number[];
  #distinct: ReadonlySet<number> | null = null;

  constructor(ids: readonly number[]) {
    this.ids = ids;
  }

  /** Each id once. */
  get distinct(): ReadonlySet<number> {
    return (this.#distinct ??= new Set(this.ids));
  }
}

export class TokenHistory {
  readonly prompt: PromptTokens;
  /** What was generated so far; grows while the choice goes on. */
  readonly answerIds: readonly number[];
  readonly #counts = new Map<number, number>();
  #countedLength = 0;

  /** @param answerIds may grow, and never changes otherwise */
  constructor(prompt: PromptTokens, answerIds: readonly number[]) {
    this.prompt = prompt;
    this.answerIds = answerIds;
  }

  /** How often the answer has each id that it has. */
  get answerCounts(): ReadonlyMap<number, number> {
    const counts = this.#counts;
    while (this.#countedLength < this.answerIds.length) {
      const id = this.answerIds[this.#countedLength++];
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  }
}
