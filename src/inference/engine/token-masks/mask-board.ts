// Memory that the engine's thread shares with one that computes masks: for each place the token it moved behind, one mask,
// and whether that is there yet. Each half of a place is written by one thread and read by the other, in turns that are
// counted, so that nothing is taken for what an earlier owner of the place asked for.
import { assert } from "../../../base/domain/assert.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import type { TokenMask } from "./constraint-backend.ts";

/** How a turn of a place ended; of one that failed a message says why. */
export type MaskOutcome = "goes-on" | "may-end" | "failed";

const outcomes: readonly MaskOutcome[] = ["goes-on", "may-end", "failed"];

/** A token that a place moved behind, as this turn. */
export interface Move {
  readonly turn: number;
  readonly tokenId: number;
}

/** Turns asked for, their tokens, turns done, their outcomes. */
const wordsPerPlace = 4;

export class MaskBoard {
  /** What the other thread makes its board of. */
  readonly memory: SharedArrayBuffer;
  readonly #asked: Int32Array;
  readonly #tokens: Int32Array;
  readonly #done: Int32Array;
  readonly #outcomes: Int32Array;
  readonly #masks: Uint32Array;
  readonly #maskWords: number;

  /** @param memory of a board with the same numbers; absent makes a new one, every place at turn 0 */
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

  /** Moves a place behind a token; its mask is then the place's turn. */
  ask(place: number, { turn, tokenId }: Move): void {
    this.#tokens[place] = tokenId;
    Atomics.store(this.#asked, place, turn);
  }

  /** The last move of a place, for the thread that computes its masks. */
  lastMove(place: number): Move {
    const turn = Atomics.load(this.#asked, place);
    return { turn, tokenId: this.#tokens[place] };
  }

  /** The mask of a place, for the thread that writes it. */
  maskOf(place: number): Uint32Array {
    return this.#masks.subarray(place * this.#maskWords, (place + 1) * this.#maskWords);
  }

  /** Says that a place's turn is done, and wakes the thread that waits for it. */
  finish(place: number, turn: number, outcome: MaskOutcome): void {
    this.#outcomes[place] = outcomes.indexOf(outcome);
    Atomics.store(this.#done, place, turn);
    Atomics.notify(this.#done, place);
  }

  isDone(place: number, turn: number): boolean {
    return Atomics.load(this.#done, place) === turn;
  }

  /** The mask of a place's turn; null while there is none, and where it failed. */
  read(place: number, turn: number): TokenMask | null {
    if (!this.isDone(place, turn)) return null;
    const outcome = outcomes[this.#outcomes[place]];
    return outcome === "failed" ? null : { allowed: this.maskOf(place), mayEnd: outcome === "may-end" };
  }

  /** Blocks the thread until a place's turn is done, at most until this time of the monotonic clock. */
  waitUntil(place: number, turn: number, endMs: number): void {
    for (;;) {
      const done = Atomics.load(this.#done, place);
      const leftMs = endMs - systemClock.monotonicMs();
      if (done === turn || leftMs <= 0) return;
      Atomics.wait(this.#done, place, done, leftMs);
    }
  }
}
