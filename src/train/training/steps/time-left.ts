// How long the rest of a job's steps takes, by the speed of its last ones. Pure.

/** Steps that the speed is taken from: the machine may have become faster or slower since. */
const measuredMax = 16;

export class TimeLeft {
  readonly #tokenCounts: readonly number[];
  readonly #measured: { readonly ms: number; readonly tokenCount: number }[] = [];
  #isFirst = true;

  /** @param tokenCounts of each step of the job: what its time grows with */
  constructor(tokenCounts: readonly number[]) {
    this.#tokenCounts = tokenCounts;
  }

  /**
   * Seconds for the steps behind this one; undefined behind the first of an attempt, which also loads its program and says
   * nothing of the others.
   *
   * @param index of the step that is over
   * @param ms what it took, with all that was done beside it
   */
  after(index: number, ms: number): number | undefined {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (isFirst) return undefined;
    this.#measured.push({ ms, tokenCount: this.#tokenCounts[index] });
    if (this.#measured.length > measuredMax) this.#measured.shift();
    const tokensLeft = sumOf(this.#tokenCounts.slice(index + 1));
    const msPerToken =
      sumOf(this.#measured.map((step) => step.ms)) / sumOf(this.#measured.map((step) => step.tokenCount));
    return (tokensLeft * msPerToken) / 1000;
  }
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
