// Fixed-size states of a lane's slots: the data of a sequence that layers keep besides keys and values. Each state is
// an array [slot, ...], so that consecutive slots are a view that a graph takes without a copy.
import type { StateShape } from "../../architectures/serving/sequence-memory.ts";

/** Returns the number of float values in each state, by its index. */
export function stateSizes(shapes: readonly StateShape[]): readonly number[] {
  return shapes.map(({ dims }) => dims.reduce((product, size) => product * size, 1));
}

/** Returns the number of float values in all states of a sequence. */
export function stateValues(shapes: readonly StateShape[]): number {
  return stateSizes(shapes).reduce((sum, size) => sum + size, 0);
}

/** Returns the bytes of all states of a sequence. */
export function stateBytes({ states }: { readonly states: readonly StateShape[] }): number {
  return stateValues(states) * Float32Array.BYTES_PER_ELEMENT;
}

export class SequenceStates {
  readonly #sizes: readonly number[];
  #slotRoom = 0;
  /** Values of each state, [slot, size]. */
  #values: readonly Float32Array[];

  constructor(shapes: readonly StateShape[]) {
    this.#sizes = stateSizes(shapes);
    this.#values = this.#sizes.map(() => new Float32Array(0));
  }

  get bytes(): number {
    return this.#values.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Returns the values of one state in consecutive slots, as a view, not a copy. */
  view(state: number, slot: number, slotCount: number): Float32Array {
    const size = this.#sizes[state];
    return this.#values[state].subarray(slot * size, (slot + slotCount) * size);
  }

  /**
   * Makes room for `slotCount` slots, or frees room if few slots are needed. The first `usedCount` slots keep their
   * contents.
   */
  resize(slotCount: number, usedCount: number): void {
    if (this.#sizes.length === 0) return;
    const isRoomy = this.#slotRoom > 8 && slotCount * 4 <= this.#slotRoom;
    if (slotCount <= this.#slotRoom && !isRoomy) return;
    this.#slotRoom = Math.ceil(slotCount * 1.25);
    this.#values = this.#values.map((values, state) => {
      const grown = new Float32Array(this.#slotRoom * this.#sizes[state]);
      grown.set(values.subarray(0, usedCount * this.#sizes[state]));
      return grown;
    });
  }

  /** Resets a slot's states to zeros, as before the first token. */
  clear(slot: number): void {
    for (const state of this.#values.keys()) this.view(state, slot, 1).fill(0);
  }

  /**
   * Overwrites the states of slot `to` with those of slot `from`. Slot `to` may belong to another lane, whose states
   * are `target`.
   */
  copy(from: number, to: number, target: SequenceStates = this): void {
    for (const state of this.#values.keys()) target.view(state, to, 1).set(this.view(state, from, 1));
  }

  /**
   * Replaces the states of all slots by new arrays [slot, size], which the caller must no longer use. This avoids
   * copying them into {@link SequenceStates.view}.
   */
  replaceAll(values: readonly Float32Array[], slotCount: number): void {
    this.#values = values;
    this.#slotRoom = slotCount;
  }

  swap(a: number, b: number): void {
    for (const state of this.#values.keys()) {
      const first = this.view(state, a, 1).slice();
      this.view(state, a, 1).set(this.view(state, b, 1));
      this.view(state, b, 1).set(first);
    }
  }

  /** Returns a copy of a slot's states in one array, one state after another. */
  read(slot: number): Float32Array {
    const copy = new Float32Array(this.#sizes.reduce((sum, size) => sum + size, 0));
    let end = 0;
    for (const [state, size] of this.#sizes.entries()) {
      copy.set(this.view(state, slot, 1), end);
      end += size;
    }
    return copy;
  }

  /** Writes a slot's states from an array that {@link SequenceStates.read} returned. */
  write(slot: number, states: Float32Array): void {
    let start = 0;
    for (const [state, size] of this.#sizes.entries()) {
      this.view(state, slot, 1).set(states.subarray(start, start + size));
      start += size;
    }
  }
}
