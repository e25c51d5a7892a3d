// Who holds which slot of one adapter's lane. Decoding rows come first, prompts on their way after them, so that both
// kinds are contiguous; slots move when a row leaves, and the holders learn their new place.
// Does not compute and does not decide who gets a slot.
import { assert } from "../../domain/assert.ts";
import type { LoadedAdapter } from "../model-runner.ts";
import type { KvLane } from "../cache/kv-lane.ts";

/** Something that holds a slot; the lane alone writes it. */
export interface SlotHolder {
  slot: number;
}

/** `slot` of a holder that has none. */
export const noSlot = -1;

export class Lane<Prompt extends SlotHolder, Row extends SlotHolder> {
  readonly id: string;
  readonly adapter: LoadedAdapter | null;
  readonly kv: KvLane;
  /** Row i holds slot i. */
  readonly rows: Row[] = [];
  /** Prompt i holds slot `rows.length + i`. */
  readonly prompts: Prompt[] = [];

  constructor(id: string, adapter: LoadedAdapter | null, kv: KvLane) {
    this.id = id;
    this.adapter = adapter;
    this.kv = kv;
  }

  get isEmpty(): boolean {
    return this.rows.length === 0 && this.prompts.length === 0;
  }

  /** Gives a prompt an empty slot, for which there must be room. */
  addPrompt(prompt: Prompt): void {
    this.prompts.push(prompt);
    prompt.slot = this.kv.takeSlot();
  }

  /** The slot of a computed prompt becomes that of a row. */
  promote(prompt: Prompt, row: Row): void {
    const target = this.rows.length;
    const displaced = this.prompts[0];
    const index = this.prompts.indexOf(prompt);
    assert(index >= 0, "a promoted prompt is in its lane");
    this.kv.swapSlots(prompt.slot, target);
    this.prompts[index] = displaced;
    displaced.slot = prompt.slot;
    this.prompts.shift();
    prompt.slot = noSlot;
    row.slot = target;
    this.rows.push(row);
  }

  /** Adds a row that starts from what another holds; there must be room for its slot. */
  addCopy(original: Row, row: Row): void {
    const target = this.rows.length;
    const last = this.kv.takeSlot();
    const displaced = this.prompts.shift();
    if (displaced !== undefined) {
      this.kv.copySlot(target, last);
      displaced.slot = last;
      this.prompts.push(displaced);
    }
    this.kv.copySlot(original.slot, target);
    row.slot = target;
    this.rows.push(row);
  }

  /** Takes a row's slot away; the last row and the last prompt fill the holes. */
  removeRow(row: Row): void {
    const lastRow = this.rows.pop();
    assert(
      lastRow !== undefined && (lastRow === row || this.rows[row.slot] === row),
      "a removed row is in its lane",
    );
    const hole = this.rows.length;
    if (lastRow !== row) {
      this.kv.copySlot(hole, row.slot);
      this.rows[row.slot] = lastRow;
      lastRow.slot = row.slot;
    }
    const lastPrompt = this.prompts.pop();
    if (lastPrompt !== undefined) {
      this.kv.copySlot(lastPrompt.slot, hole);
      lastPrompt.slot = hole;
      this.prompts.unshift(lastPrompt);
    }
    this.kv.dropLastSlot();
    row.slot = noSlot;
  }

  removePrompt(prompt: Prompt): void {
    const last = this.prompts.pop();
    assert(last !== undefined, "a removed prompt is in its lane");
    if (last !== prompt) {
      this.kv.copySlot(last.slot, prompt.slot);
      this.prompts[this.prompts.indexOf(prompt)] = last;
      last.slot = prompt.slot;
    }
    this.kv.dropLastSlot();
    prompt.slot = noSlot;
  }
}
