// The board: memory that the engine's thread and a mask thread share. Each constrained choice has a numbered place on
// the board, with its last token, one mask, and whether the mask is ready; only one of the two threads writes each
// value. The requests for masks at a place are numbered (turns), so a late mask cannot be mistaken for a mask of the
// next choice at that place.
import { assert } from "../../../base/domain/assert.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import type { TokenMask } from "./constraint-backend.ts";

/**
 * Outcome of computing a requested mask. `goes-on`: the answer must continue; `may-end`: the answer may end here;
 * `failed`: there is no mask, and a message gives the reason.
 */
export type MaskOutcome = "goes-on" | "may-end" | "failed";

const outcomes: readonly MaskOutcome[] = ["goes-on", "may-end", "failed"];

/** The token that was last added to the choice at a place, with the number of the turn for which it requests a mask. */
export interface Move {
  readonly turn: number;
  readonly tokenId: number;
}

/**
 * Number of 32-bit words per place: the last requested turn, its token, the last finished turn, and the outcome of that
 * turn.
 */
const wordsPerPlace = 4;

export class MaskBoard {
  /** Memory from which the mask thread creates its board. */
  readonly memory: SharedArrayBuffer;
  readonly #asked: Int32Array;
  readonly #tokens: Int32Array;
  readonly #done: Int32Array;
  readonly #outcomes: Int32Array;
  readonly #masks: Uint32Array;
  readonly #maskWords: number;

  /**
   * @param memory memory of a board that was created with the same counts; if absent, creates a new board with every
   * place at turn 0
   */
  constructor(placeCount: number, maskWords: number, memory?: SharedArrayBuffer) {
    const words = placeCount * (wordsPerPlace + maskWords);
    this.memory = memory ?? new SharedArrayBuffer(4 * words);
    assert(this.memory.byteLength === 4 * words, "both threads have a board of the same size");
    const column = (index: number) => new Int32Array(this.memory, 4 * index * placeCount, placeCount);
    this.#asked = column(0);
    this.#tokens = column(1);
    this.#done = column(2);
    this.#outcomes = column(3);
    this.#masks = new Uint32Array(this.memory, 4 * wordsPerPlace * placeCount);
    this.#maskWords = maskWords;
  }

  /** Adds a token to the choice at a place, and thereby requests the mask of the given turn. */
  ask(place: number, { turn, tokenId }: Move): void {
    this.#tokens[place] = tokenId;
    Atomics.store(this.#asked, place, turn);
  }

  /** Returns the last requested turn of a place, and its token. Called by the thread that computes the masks. */
  lastMove(place: number): Move {
    const turn = Atomics.load(this.#asked, place);
    return { turn, tokenId: this.#tokens[place] };
  }

  /** Returns the mask of a place for writing. Called by the thread that computes the masks. */
  maskOf(place: number): Uint32Array {
    return this.#masks.subarray(place * this.#maskWords, (place + 1) * this.#maskWords);
  }

  /**
   * Marks the mask that was requested in a turn as computed or failed. Wakes the engine's thread if it waits for that
   * mask.
   */
  finish(place: number, turn: number, outcome: MaskOutcome): void {
    this.#outcomes[place] = outcomes.indexOf(outcome);
    Atomics.store(this.#done, place, turn);
    Atomics.notify(this.#done, place);
  }

  isDone(place: number, turn: number): boolean {
    return Atomics.load(this.#done, place) === turn;
  }

  /** Returns the mask of a turn; null if the mask is not ready, or could not be computed. */
  read(place: number, turn: number): TokenMask | null {
    if (!this.isDone(place, turn)) return null;
    const outcome = outcomes[this.#outcomes[place]];
    return outcome === "failed" ? null : { allowed: this.maskOf(place), mayEnd: outcome === "may-end" };
  }

  /**
   * Blocks the thread until the mask of a turn is computed or has failed, at most until `endMs` of the monotonic clock.
   */
  waitUntil(place: number, turn: number, endMs: number): void {
    for (;;) {
      const done = Atomics.load(this.#done, place);
      const leftMs = endMs - systemClock.monotonicMs();
      if (done === turn || leftMs <= 0) return;
      Atomics.wait(this.#done, place, done, leftMs);
    }
  }
}
