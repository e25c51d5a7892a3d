// Assigns the slots of a lane, all for one adapter, to sequences; other modules decide which sequences get a slot.
// Decoding rows have the first slots, and prompts in prefill the next ones, so that both ranges are contiguous. If a
// sequence leaves, another one moves into its slot.
import { assert, present } from "../../../base/domain/assert.ts";
import type { LaneProspect } from "../cache/kv-cache.ts";
import type { KvLane } from "../cache/kv-lane.ts";
import type { LoadedAdapter } from "../model-runner.ts";
import type { LaneLoad } from "../schedule/slot-holder.ts";
import type { Sequence } from "./sequence.ts";

export class Lane {
  readonly id: string;
  /** Key of the lane's adapter; all sequences in the lane have the same key. */
  readonly adapterKey: string;
  readonly adapter: LoadedAdapter | null;
  readonly kv: KvLane;
  /** Decoding rows; row i uses slot i. */
  readonly rows: Sequence[] = [];
  /** Prompts in prefill; prompt i uses slot `rows.length + i`. */
  readonly prompts: Sequence[] = [];

  constructor(
    { id, adapterKey }: Pick<Lane, "id" | "adapterKey">,
    adapter: LoadedAdapter | null,
    kv: KvLane,
  ) {
    this.id = id;
    this.adapterKey = adapterKey;
    this.adapter = adapter;
    this.kv = kv;
  }

  get isEmpty(): boolean {
    return this.rows.length === 0 && this.prompts.length === 0;
  }

  /** Maximum length that is reserved for the lane's longest sequence. */
  get positionCountMax(): number {
    return Math.max(
      0,
      ...this.rows.map((row) => row.positionCountMax),
      ...this.prompts.map((prompt) => prompt.positionCountMax),
    );
  }

  /**
   * Number of positions that the lane's prompts will fill, and the maximum length that is reserved for its sequences.
   */
  get prospect(): LaneProspect {
    const { positionCountMax } = this;
    return {
      positionCount: Math.max(0, ...this.prompts.map(({ tokenCount }) => tokenCount)),
      positionCountMax,
    };
  }

  /**
   * Load of the lane for planning: its rows and prompts, and the slots and positions that are reserved for its
   * sequences.
   */
  get load(): LaneLoad {
    return {
      laneId: this.id,
      slotCount: this.rows.length + this.prompts.reduce((sum, prompt) => sum + prompt.slotCount, 0),
      positionCountMax: this.positionCountMax,
      decodingCount: this.rows.filter(({ isDecoding }) => isDecoding).length,
    };
  }

  /**
   * Moves the rows that decode in this step to the first slots, before rows that wait. Returns the number of rows that
   * decode.
   */
  arrangeRows(): number {
    let count = 0;
    for (const [slot, row] of this.rows.entries()) {
      if (!row.isDecoding) continue;
      if (slot !== count) this.#swapRows(slot, count);
      count += 1;
    }
    return count;
  }

  /** Gives a sequence the next empty slot. The lane must have room for it. */
  addPrompt(sequence: Sequence): void {
    this.prompts.push(sequence);
    sequence.slot = this.kv.takeSlot();
  }

  /**
   * Gives the slot of a leader, the sequence that computes a shared prompt, to one of its followers. The follower
   * continues from the part of the prompt that is already computed.
   */
  handOver(leader: Sequence, follower: Sequence): void {
    this.prompts[this.#placeOf(leader)] = follower;
    follower.slot = slotOf(leader);
    follower.computedCount = leader.computedCount;
    leader.slot = null;
  }

  /**
   * Turns a sequence whose prompt is completely computed into a decoding row. Swaps slots, because rows have the first
   * slots of the lane.
   */
  promote(sequence: Sequence): void {
    const target = this.rows.length;
    const slot = slotOf(sequence);
    const place = this.#placeOf(sequence);
    const displaced = this.prompts[0];
    this.kv.swapSlots(slot, target);
    this.prompts[place] = displaced;
    displaced.slot = slot;
    this.prompts.shift();
    sequence.slot = target;
    this.rows.push(sequence);
  }

  /** Adds a row with a copy of another row's contents. The lane must have room for one more slot. */
  addCopy(original: Sequence, sequence: Sequence): void {
    const target = this.rows.length;
    const last = this.kv.takeSlot();
    const displaced = this.prompts.shift();
    if (displaced !== undefined) {
      this.kv.copySlot(target, last);
      displaced.slot = last;
      this.prompts.push(displaced);
    }
    this.kv.copySlot(slotOf(original), target);
    sequence.slot = target;
    sequence.computedCount = original.computedCount;
    this.rows.push(sequence);
  }

  /** Overwrites a row with a copy of another row of the same request. Copies only positions at which the two differ. */
  copyRow(from: Sequence, to: Sequence): void {
    const { tokenCount, computedCount, answerTokenIds } = to;
    let common = 0;
    while (common < answerTokenIds.length && answerTokenIds[common] === from.answerTokenIds[common])
      common += 1;
    this.kv.copySlot(slotOf(from), slotOf(to), Math.min(computedCount, tokenCount + common));
    to.copyAnswer(from);
  }

  /** Moves a row to another lane. That lane must have no prompts, and room for one more row. */
  moveRow(row: Sequence, target: Lane): void {
    assert(target.prompts.length === 0, "a moved row comes last in its lane");
    const slot = target.kv.takeSlot();
    this.kv.copySlot(slotOf(row), slot, 0, target.kv);
    this.removeRow(row);
    target.rows.push(row);
    row.slot = slot;
    row.placedIn = target.id;
  }

  /** Removes a row and its slot. The last row and the last prompt move to fill the gaps. */
  removeRow(sequence: Sequence): void {
    const slot = slotOf(sequence);
    const lastRow = this.rows.pop();
    assert(
      lastRow !== undefined && (lastRow === sequence || this.rows[slot] === sequence),
      "a removed row is in its lane",
    );
    const hole = this.rows.length;
    if (lastRow !== sequence) {
      this.kv.copySlot(hole, slot);
      this.rows[slot] = lastRow;
      lastRow.slot = slot;
    }
    const lastPrompt = this.prompts.pop();
    if (lastPrompt !== undefined) {
      this.kv.copySlot(slotOf(lastPrompt), hole);
      lastPrompt.slot = hole;
      this.prompts.unshift(lastPrompt);
    }
    this.kv.dropLastSlot();
    sequence.slot = null;
  }

  /** Removes a prompt and its slot. The last prompt moves into the gap. */
  removePrompt(sequence: Sequence): void {
    const place = this.#placeOf(sequence);
    const last = present(this.prompts.pop(), "the last prompt of a lane that has one");
    if (last !== sequence) {
      const slot = slotOf(sequence);
      this.kv.copySlot(slotOf(last), slot);
      this.prompts[place] = last;
      last.slot = slot;
    }
    this.kv.dropLastSlot();
    sequence.slot = null;
  }

  #swapRows(one: number, other: number): void {
    const { rows } = this;
    this.kv.swapSlots(one, other);
    [rows[one], rows[other]] = [rows[other], rows[one]];
    rows[one].slot = one;
    rows[other].slot = other;
  }

  #placeOf(prompt: Sequence): number {
    const place = this.prompts.indexOf(prompt);
    assert(place >= 0, "a prompt is in its lane");
    return place;
  }
}

/** Returns the slot of a sequence. The sequence must have one. */
export function slotOf({ slot }: Sequence): number {
  return present(slot, "the slot of a sequence in a lane");
}
