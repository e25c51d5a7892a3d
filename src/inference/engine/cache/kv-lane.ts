// Keys and values of rows that are computed together, used slots first, so that a batch is a contiguous view that a graph
// takes without a copy. A lane gets another capacity while its rows go on: what they hold is copied in portions into a slab
// that takes the place of the old one once nothing is missing.
// Knows neither what a slot is used for, nor its adapter, nor how much memory there is in all: the cache does.
import { assert } from "../../../base/domain/assert.ts";
import type { ModelShape } from "../model-shape.ts";
import { copyRun, positionBytes, Slab, type SpareSlabs } from "./slab.ts";

/** Capacities are multiples of this, so that sums over a row are grouped alike at every capacity. */
export const positionGranule = 64;

export function roundUpPositions(count: number): number {
  return Math.ceil(count / positionGranule) * positionGranule;
}

/** New keys and values of one layer as a graph returns them: [row, kv head, position, head size]. */
export interface NewEntries {
  readonly keys: Float32Array;
  readonly values: Float32Array;
  /** Positions a row has in these arrays, padding included. */
  readonly positionCount: number;
}

/** Positions [start, start + count) of one row of new entries. */
export interface EntryRange {
  readonly row: number;
  readonly start: number;
  readonly count: number;
}

/** Positions [position, position + count) of a slot, which lie in a block from `place` on. */
export interface BlockRange {
  readonly position: number;
  readonly place: number;
  readonly count: number;
}

/**
 * The slab that takes a lane's place. It is filled in passes, each through all slots of one part of the slab after the other:
 * new memory costs most of the time, and comes in large pages, of which so only one is new at a time. A pass copies what came
 * since the one before.
 */
interface Resizing {
  readonly slab: Slab;
  /** Positions of each slot that all parts have. */
  readonly copiedCounts: number[];
  /** Those that they will have after this pass. */
  readonly passCounts: number[];
  /** What the pass copies next, part by part and slot by slot; null between passes. */
  cursor: { part: number; slot: number } | null;
}

/** A slot is a number below `usedCount`; its holder learns when it moves. */
export class KvLane {
  readonly shape: ModelShape;
  /** Positions filled, by slot. */
  readonly lengths: number[] = [];
  readonly #owner: string;
  readonly #spares: SpareSlabs | null;
  #slab: Slab;
  #resizing: Resizing | null = null;

  /**
   * @param owner whose keys and values these are: what computes them
   * @param spares where slabs come from and go to; absent, each is made anew
   */
  constructor(shape: ModelShape, owner = "", spares: SpareSlabs | null = null) {
    this.shape = shape;
    this.#owner = owner;
    this.#spares = spares;
    this.#slab = new Slab(shape, 0, 0);
  }

  get usedCount(): number {
    return this.lengths.length;
  }

  /** Positions that a slot has room for. */
  get capacity(): number {
    return this.#slab.capacity;
  }

  /** Slots that have been used, or were of another lane: what has been written takes memory. */
  get slotCapacity(): number {
    return this.#slab.writtenSlotCount;
  }

  /** Slots that could be. */
  get slotRoom(): number {
    return this.#slab.slotRoom;
  }

  get isResizing(): boolean {
    return this.#resizing !== null;
  }

  /** The capacity that it is resized to; null where it is not. */
  get comingCapacity(): number | null {
    return this.#resizing?.slab.capacity ?? null;
  }

  /** Of all positions that its slots hold. */
  get heldBytes(): number {
    return this.lengths.reduce((sum, length) => sum + length, 0) * positionBytes(this.shape);
  }

  /** What may have been written, in the slab that is to come too. */
  get bytes(): number {
    return this.#slab.writtenBytes + (this.#resizing?.slab.writtenBytes ?? 0);
  }

  /** A view, not a copy: keys of consecutive slots, [slotCount, kv head, capacity, head size]. */
  keys(layer: number, slot: number, slotCount: number): Float32Array {
    return this.#view(this.#slab.keys[layer], slot, slotCount);
  }

  /** A view, not a copy, as {@link KvLane.keys}. */
  values(layer: number, slot: number, slotCount: number): Float32Array {
    return this.#view(this.#slab.values[layer], slot, slotCount);
  }

  /** The next slot, empty; there must be room for it. */
  takeSlot(): number {
    assert(this.usedCount < this.slotRoom, "a slot is taken only where there is room");
    this.#resizing?.copiedCounts.push(0);
    this.#resizing?.passCounts.push(0);
    const slot = this.lengths.push(0) - 1;
    if (this.#resizing !== null && this.usedCount > this.#resizing.slab.slotRoom) this.stopResizing();
    for (const slab of [this.#slab, ...(this.#resizing === null ? [] : [this.#resizing.slab])])
      slab.writtenSlotCount = Math.max(slab.writtenSlotCount, this.usedCount);
    return slot;
  }

  /** Gives the last slot back. */
  dropLastSlot(): void {
    assert(this.usedCount > 0, "only a used slot is dropped");
    this.#resizing?.copiedCounts.pop();
    this.#resizing?.passCounts.pop();
    this.lengths.pop();
  }

  /**
   * Copies what one slot holds over another, of this lane or of `target`.
   *
   * @param start up to where both hold the same already
   */
  copySlot(from: number, to: number, start = 0, target: KvLane = this): void {
    if (target === this && from === to) return;
    const length = this.lengths[from];
    assert(length <= target.capacity, "a copy fits its slot");
    if (start < length)
      this.#slab.copyTo(target.#slab, { slot: from, position: start, count: length - start }, to);
    target.#forgetCopied(to, start);
    target.lengths[to] = length;
  }

  swapSlots(a: number, b: number): void {
    if (a === b) return;
    if (this.lengths[a] === 0 || this.lengths[b] === 0) {
      const [from, to] = this.lengths[a] === 0 ? [b, a] : [a, b];
      this.copySlot(from, to);
      this.#forgetCopied(from, 0);
      this.lengths[from] = 0;
      return;
    }
    const { kvHeadCount, headSize } = this.shape;
    const slotStride = kvHeadCount * this.capacity * headSize;
    for (const values of [...this.#slab.keys, ...this.#slab.values]) {
      const first = values.slice(a * slotStride, (a + 1) * slotStride);
      values.copyWithin(a * slotStride, b * slotStride, (b + 1) * slotStride);
      values.set(first, b * slotStride);
    }
    this.#forgetCopied(a, 0);
    this.#forgetCopied(b, 0);
    [this.lengths[a], this.lengths[b]] = [this.lengths[b], this.lengths[a]];
  }

  /**
   * Writes a range of new entries after what the slot holds. The length stays until {@link KvLane.advance}, since layers
   * come one after another.
   */
  write(layer: number, slot: number, { row, start, count }: EntryRange, entries: NewEntries): void {
    const { kvHeadCount, headSize } = this.shape;
    const length = this.lengths[slot];
    assert(length + count <= this.capacity, "new keys and values fit the slot");
    for (let head = 0; head < kvHeadCount; head++) {
      const from = ((row * kvHeadCount + head) * entries.positionCount + start) * headSize;
      const to = this.#slab.start(slot, head) + length * headSize;
      copyRun(entries.keys, from, this.#slab.keys[layer], to, count * headSize);
      copyRun(entries.values, from, this.#slab.values[layer], to, count * headSize);
    }
  }

  /**
   * Copies positions of a slot into a block.
   *
   * @param block [layer, keys then values, kv head, position, head size]
   */
  copyToBlock(slot: number, { position, place, count }: BlockRange, block: Float32Array): void {
    assert(position + count <= this.lengths[slot], "only what a slot holds is copied");
    this.#eachRun(slot, block, (slab, from, to) =>
      copyRun(
        slab,
        from + position * this.shape.headSize,
        block,
        to + place * this.shape.headSize,
        count * this.shape.headSize,
      ),
    );
  }

  /** Copies positions from a block that {@link KvLane.copyToBlock} wrote; the length stays, as in {@link KvLane.write}. */
  copyFromBlock(slot: number, { position, place, count }: BlockRange, block: Float32Array): void {
    assert(position + count <= this.capacity, "keys and values of a block fit the slot");
    this.#eachRun(slot, block, (slab, to, from) =>
      copyRun(
        block,
        from + place * this.shape.headSize,
        slab,
        to + position * this.shape.headSize,
        count * this.shape.headSize,
      ),
    );
  }

  /** Visits every head of every layer: where it begins in its slab, for the slot, and in a block. */
  #eachRun(
    slot: number,
    block: Float32Array,
    visit: (slab: Float32Array, inSlab: number, inBlock: number) => void,
  ): void {
    const { layerCount, kvHeadCount } = this.shape;
    const inBlockStride = block.length / (layerCount * 2 * kvHeadCount);
    let inBlock = 0;
    for (let layer = 0; layer < layerCount; layer++) {
      for (const slab of [this.#slab.keys[layer], this.#slab.values[layer]]) {
        for (let head = 0; head < kvHeadCount; head++) {
          visit(slab, this.#slab.start(slot, head), inBlock);
          inBlock += inBlockStride;
        }
      }
    }
  }

  /** Says that every layer now holds `count` more positions of the slot; less than 0 takes the last ones back. */
  advance(slot: number, count: number): void {
    this.lengths[slot] += count;
    this.#forgetCopied(slot, this.lengths[slot]);
  }

  /**
   * Gives the lane another size at once, keeping what the used slots hold. Takes as long as copying that, but where the
   * slots alone change and have room: see {@link KvLane.startResizing}.
   *
   * @param slotRoom how many slots may come without another copy
   */
  reshape(slotRoom: number, capacity: number): void {
    assert(slotRoom >= this.usedCount, "a slab keeps its used slots");
    if (this.#resizing?.slab.capacity !== capacity || this.#resizing.slab.slotRoom < slotRoom) {
      this.stopResizing();
      this.startResizing(slotRoom, capacity);
    }
    this.resize(() => false);
  }

  /** Makes the slab of another size; {@link KvLane.resize} fills it, while this one stays in use. */
  startResizing(slotRoom: number, capacity: number): void {
    assert(this.#resizing === null, "a lane is resized once at a time");
    assert(slotRoom >= this.usedCount, "a slab keeps its used slots");
    const spare = this.#spares?.take(slotRoom, capacity, this.#owner);
    const slab = spare ?? new Slab(this.shape, slotRoom, capacity);
    slab.writtenSlotCount = Math.max(slab.writtenSlotCount, this.usedCount);
    const counts = this.lengths.map(() => 0);
    this.#resizing = { slab, copiedCounts: counts, passCounts: [...counts], cursor: null };
  }

  stopResizing(): void {
    if (this.#resizing !== null) this.#spares?.give(this.#resizing.slab, this.#owner);
    this.#resizing = null;
  }

  /** Leaves its memory to others; nothing is used. */
  close(): void {
    assert(this.usedCount === 0, "only an empty lane is closed");
    this.stopResizing();
    this.#spares?.give(this.#slab, this.#owner);
    this.#slab = new Slab(this.shape, 0, 0);
  }

  /**
   * Goes on copying into the new slab, and puts it in place once it has all. Where a slot has outgrown it meanwhile, the
   * lane stays as it is.
   *
   * @param isOver asked after each piece
   * @returns how many bytes were copied
   */
  resize(isOver: () => boolean): number {
    const resizing = this.#resizing;
    if (resizing === null) return 0;
    const { slab, copiedCounts, passCounts } = resizing;
    if (this.lengths.some((length) => length > slab.capacity)) this.stopResizing();
    let copiedBytes = 0;
    while (this.#resizing !== null) {
      if (resizing.cursor === null) {
        if (this.lengths.every((length, slot) => copiedCounts[slot] === length)) {
          this.#spares?.give(this.#slab, this.#owner);
          this.#slab = slab;
          this.#resizing = null;
          break;
        }
        this.lengths.forEach((length, slot) => (passCounts[slot] = length));
        resizing.cursor = { part: 0, slot: 0 };
      }
      const { cursor } = resizing;
      if (cursor.slot < this.usedCount) {
        const position = copiedCounts[cursor.slot];
        const range = { slot: cursor.slot, position, count: passCounts[cursor.slot] - position };
        cursor.slot += 1;
        if (range.count === 0) continue;
        copiedBytes += this.#slab.copyPartTo(slab, cursor.part, range);
        if (isOver()) break;
      } else if (cursor.part + 1 < slab.partCount) {
        resizing.cursor = { part: cursor.part + 1, slot: 0 };
      } else {
        passCounts.forEach((count, slot) => (copiedCounts[slot] = count));
        resizing.cursor = null;
      }
    }
    return copiedBytes;
  }

  /** What lies in a slot from a position on is no longer what was copied. */
  #forgetCopied(slot: number, position: number): void {
    if (this.#resizing === null) return;
    const { copiedCounts, passCounts } = this.#resizing;
    copiedCounts[slot] = Math.min(copiedCounts[slot], position);
    passCounts[slot] = Math.min(passCounts[slot], position);
  }

  #view(values: Float32Array, slot: number, slotCount: number): Float32Array {
    const slotStride = this.shape.kvHeadCount * this.capacity * this.shape.headSize;
    return values.subarray(slot * slotStride, (slot + slotCount) * slotStride);
  }
}
