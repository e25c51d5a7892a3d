// Which sequence holds which slot of a lane of one adapter's keys and values. Decoding rows come first, prompts on their way
// after them, so that both kinds are contiguous; slots move when a sequence leaves, and each learns its new place.
// Does not compute and does not decide who gets a slot.
import { assert, present } from "../../../base/domain/assert.ts";
import type { LaneProspect } from "../cache/kv-cache.ts";
import type { KvLane } from "../cache/kv-lane.ts";
import type { LoadedAdapter } from "../model-runner.ts";
import type { LaneLoad } from "../schedule/slot-holder.ts";
import type { Sequence } from "./sequence.ts";

export class Lane {
  readonly id: string;
  /** As of its sequences. */
  readonly adapterKey: string;
  readonly adapter: LoadedAdapter | null;
  readonly kv: KvLane;
  /** Row i holds slot i. */
  readonly rows: Sequence[] = [];
  /** Prompt i holds slot `rows.length + i`. */
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

  /** What its longest sequence may grow to, as it was promised. */
  get positionCountMax(): number {
    return Math.max(
      0,
      ...this.rows.map((row) => row.positionCountMax),
      ...this.prompts.map((prompt) => prompt.positionCountMax),
    );
  }

  /** What its prompts will fill, and its sequences were promised. */
  get prospect(): LaneProspect {
    const { positionCountMax } = this;
    return {
      positionCount: Math.max(0, ...this.prompts.map(({ tokenCount }) => tokenCount)),
      positionCountMax,
    };
  }

  /** What the lane holds, with everything that its sequences were promised. */
  get load(): LaneLoad {
    return {
      laneId: this.id,
      slotCount: this.rows.length + this.prompts.reduce((sum, prompt) => sum + prompt.slotCount, 0),
      positionCountMax: this.positionCountMax,
      decodingCount: this.rows.filter(({ isDecoding }) => isDecoding).length,
    };
  }

  /** Moves the rows whose next token is to be computed before those that wait; how many they are. */
  arrangeRows(): number {
    let count = 0;
    for (const [slot, row] of this.rows.entries()) {
      if (!row.isDecoding) continue;
      if (slot !== count) this.#swapRows(slot, count);
      count += 1;
    }
    return count;
  }

  /** Gives a sequence an empty slot, for which there must be room. */
  addPrompt(sequence: Sequence): void {
    this.prompts.push(sequence);
    sequence.slot = this.kv.takeSlot();
  }

  /** A follower takes the place of the sequence it follows, with what is computed of their prompt. */
  handOver(leader: Sequence, follower: Sequence): void {
    this.prompts[this.#placeOf(leader)] = follower;
    follower.slot = slotOf(leader);
    follower.computedCount = leader.computedCount;
    leader.slot = null;
  }

  /** A prompt that is computed becomes a row. */
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

  /** Adds a row that starts from what another holds; there must be room for its slot. */
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

  /** A row begins with what another row of its request holds; what both have in common is there already. */
  copyRow(from: Sequence, to: Sequence): void {
    const { tokenCount, computedCount, answerTokenIds } = to;
    let common = 0;
    while (common < answerTokenIds.length && answerTokenIds[common] === from.answerTokenIds[common])
      common += 1;
    this.kv.copySlot(slotOf(from), slotOf(to), Math.min(computedCount, tokenCount + common));
    to.copyAnswer(from);
  }

  /** A row goes on in another lane, which has no prompts and room for one more. */
  moveRow(row: Sequence, target: Lane): void {
    assert(target.prompts.length === 0, "a moved row comes last in its lane");
    const slot = target.kv.takeSlot();
    this.kv.copySlot(slotOf(row), slot, 0, target.kv);
    this.removeRow(row);
    target.rows.push(row);
    row.slot = slot;
    row.placedIn = target.id;
  }

  /** Takes a row's slot away; the last row and the last prompt fill the holes. */
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

  /** Takes a prompt's slot away; the last prompt fills the hole. */
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

/** The slot of a sequence that is in a lane. */
export function slotOf({ slot }: Sequence): number {
  return present(slot, "the slot of a sequence in a lane");
}
