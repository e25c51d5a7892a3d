// What one run of a template may take: time, and characters or items of anything that it makes. Whoever makes something
// asks first, so that nothing large is built only to be refused; loops count their steps.
import type { Clock } from "../../base/domain/clock.ts";

/** What a run may take, and the error of one that takes more. */
export interface ProgramLimits {
  readonly timeMs: number;
  readonly onTimeUp: () => Error;
  /** Characters of any text, and items of any list, that the template makes. */
  readonly lengthMax: number;
  readonly onTooLong: () => Error;
}

/** Looking at the clock takes as long as a few steps. */
const stepsPerLook = 64;

/** How many characters are read or written in the time of a step. */
const charactersPerStep = 256;

export class Budget {
  readonly #limits: ProgramLimits | null;
  readonly #clock: Clock;
  readonly #endMs: number;
  #stepsToLook = stepsPerLook;

  /** Without limits nothing is refused. */
  constructor(limits: ProgramLimits | null, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#endMs = limits === null ? Infinity : clock.monotonicMs() + limits.timeMs;
  }

  /** Counts a step, or several; throws where the time is up. */
  spend(steps = 1): void {
    this.#stepsToLook -= steps;
    if (this.#stepsToLook > 0) return;
    this.#stepsToLook = stepsPerLook;
    if (this.#limits !== null && this.#clock.monotonicMs() > this.#endMs) throw this.#limits.onTimeUp();
  }

  /** Counts the work on so many characters or items, and throws where they are too many to be made. */
  room(length: number): void {
    this.require(length);
    if (length > charactersPerStep) this.spend(Math.floor(length / charactersPerStep));
  }

  /** Throws where so many characters or items are too many. */
  require(length: number): void {
    if (this.#limits !== null && length > this.#limits.lengthMax) throw this.#limits.onTooLong();
  }

  /** A text that was made. */
  text(made: string): string {
    this.room(made.length);
    return made;
  }
}
