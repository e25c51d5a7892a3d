// Memory that the engine's thread and the one that computes masks share: for each place one mask, and whether it is
// there yet. A place is written by the one thread and read by the other, in turns that are counted.
import { assert } from "../../domain/assert.ts";
import type { TokenMask } from "./constraints.ts";

/** How a turn of a place ended. */
export type MaskOutcome = "goes-on" | "may-end" | "failed";

const outcomes: readonly MaskOutcome[] = ["goes-on", "may-end", "failed"];

export class MaskBoard {
  /** What the other thread makes its board of. */
  readonly memory: SharedArrayBuffer;
  readonly placeCount: number;
  readonly maskWords: number;
  /** The last finished turn of each place. */
  readonly #turns: Int32Array;
  readonly #outcomes: Int32Array;
  readonly #masks: Uint32Array;

  /** @param memory of a board with the same numbers; absent makes a new one, every place at turn 0 */
  constructor(placeCount: number, maskWords: number, memory?: SharedArrayBuffer) {
    const words = placeCount * (2 + maskWords);
    this.memory = memory ?? new SharedArrayBuffer(4 * words);
    assert(this.memory.byteLength === 4 * words, "both threads have a board of the same size");
    this.placeCount = placeCount;
    this.maskWords = maskWords;
    this.#turns = new Int32Array(this.memory, 0, placeCount);
    this.#outcomes = new Int32Array(this.memory, 4 * placeCount, placeCount);
    this.#masks = new Uint32Array(this.memory, 8 * placeCount);
  }

  /** The mask of a place, for the thread that writes it. */
  maskOf(place: number): Uint32Array {
    return this.#masks.subarray(place * this.maskWords, (place + 1) * this.maskWords);
  }

  /** Says that a place's turn is done, and wakes whoever waits for it. */
  finish(place: number, turn: number, outcome: MaskOutcome): void {
    this.#outcomes[place] = outcomes.indexOf(outcome);
    Atomics.store(this.#turns, place, turn);
    Atomics.notify(this.#turns, place);
  }

  /**
   * Blocks the thread until a place's turn is done.
   *
   * @returns the mask; `failed` when the other thread could make none, `late` when it made none within the deadline
   */
  wait(place: number, turn: number, deadlineMs: number): TokenMask | "failed" | "late" {
    for (;;) {
      const done = Atomics.load(this.#turns, place);
      if (done === turn) break;
      if (Atomics.wait(this.#turns, place, done, deadlineMs) === "timed-out") return "late";
    }
    const outcome = outcomes[this.#outcomes[place]];
    if (outcome === "failed") return "failed";
    return { allowed: this.maskOf(place), mayEnd: outcome === "may-end" };
  }
}
