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
