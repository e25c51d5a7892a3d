// Limits of one run of a template: its time, and the characters or items of each value that it creates. Code checks
// the budget before it creates a value, so that no large value is built and then refused. Loops count their steps.
import type { Clock } from "../../base/domain/clock.ts";

/** Limits of a run, and the errors for exceeding them. */
export interface ProgramLimits {
  readonly timeMs: number;
  readonly onTimeUp: () => Error;
  /** Maximum characters of any text, and items of any list, that the template creates. */
  readonly lengthMax: number;
  readonly onTooLong: () => Error;
}

/** Steps between two readings of the clock; a reading takes as long as a few steps. */
const stepsPerLook = 64;

/** Number of characters that are read or written in the time of one step. */
const charactersPerStep = 256;

export class Budget {
  readonly #limits: ProgramLimits | null;
  readonly #clock: Clock;
  readonly #endMs: number;
  #stepsToLook = stepsPerLook;

  /** @param limits null if unlimited */
  constructor(limits: ProgramLimits | null, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#endMs = limits === null ? Infinity : clock.monotonicMs() + limits.timeMs;
  }

  /** Counts steps; throws when the time limit is exceeded. */
  spend(steps = 1): void {
    this.#stepsToLook -= steps;
    if (this.#stepsToLook > 0) return;
    this.#stepsToLook = stepsPerLook;
    if (this.#limits !== null && this.#clock.monotonicMs() > this.#endMs) throw this.#limits.onTimeUp();
  }

  /** Counts the work on a number of characters or items, and throws if the number exceeds the limit. */
  room(length: number): void {
    this.require(length);
    if (length > charactersPerStep) this.spend(Math.floor(length / charactersPerStep));
  }

  /** Throws if a number of characters or items exceeds the limit. */
  require(length: number): void {
    if (this.#limits !== null && length > this.#limits.lengthMax) throw this.#limits.onTooLong();
  }

  /** Checks the length of a new text, and returns the text. */
  text(made: string): string {
    this.room(made.length);
    return made;
  }
}
