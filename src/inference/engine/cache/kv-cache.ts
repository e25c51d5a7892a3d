// All lanes of keys and values, and the memory they may take. Lanes grow as their rows grow and shrink when most of
// their room is unused, since a step computes over the whole capacity of a lane. Both are done ahead, a few milliseconds a
// step, so that no step waits for what many rows hold to be copied.
// Whether a request may start is decided before, in the scheduler: its whole need is reserved, so growing never fails.
import type { Clock } from "../../../base/domain/clock.ts";
import type { ModelShape } from "../model-shape.ts";
import { KvLane, roundUpPositions } from "./kv-lane.ts";
import { positionBytes, SpareSlabs } from "./slab.ts";

/** Short answers leave a lane and come to it within a few steps. */
const patienceSteps = 64;

/** Copying in one step, while lanes are resized. */
const copyMsPerStep = 6;

/** Of copying, before it was measured; memory that was never used before is slow. */
const firstBytesPerMs = 2e6;

/**
 * From so many bytes of a layer's keys on, a slab has room for all slots that there may be: the room takes memory in pages
 * of 2 MB once it is used, and would take more of them than what is used where that is less.
 */
const fullRoomBytes = 2 ** 20;

/** Of slabs that no lane uses. */
const spareBytesMax = 2 ** 29;

/** The bytes to set aside for slots that may each grow to `positionCountMax` positions in one lane. */
export function laneBytes(slotCount: number, positionCountMax: number, bytesPerPosition: number): number {
  return slotCount * roundUpPositions(positionCountMax) * bytesPerPosition;
}

/** The most that keys and values can come to: within their limit, no slot holds more than the context. */
export function keyValueBytesMax(limits: {
  readonly kvCacheBytesMax: number;
  readonly slotCountMax: number;
  readonly contextLength: number;
  readonly bytesPerPosition: number;
}): number {
  const { kvCacheBytesMax, slotCountMax, contextLength, bytesPerPosition } = limits;
  return Math.min(kvCacheBytesMax, slotCountMax * contextLength * bytesPerPosition);
}

export interface KvCacheLimits {
  readonly bytesMax: number;
  readonly slotCountMax: number;
}

/** What a lane's rows will need beside what they hold. */
export interface LaneProspect {
  /** What prompts that are not computed yet will fill. */
  readonly positionCount: number;
  /** What its longest row may grow to, as it was reserved. */
  readonly positionCountMax: number;
}

export class KvCache {
  readonly #shape: ModelShape;
  readonly #limits: KvCacheLimits;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** For how many steps in a row each has needed few of its slots. */
  readonly #lanes = new Map<KvLane, number>();
  readonly #spares = new SpareSlabs(spareBytesMax);
  #bytesPerMs = firstBytesPerMs;

  constructor(shape: ModelShape, limits: KvCacheLimits, clock: Pick<Clock, "monotonicMs">) {
    this.#shape = shape;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** What the slabs of lanes take at this moment. */
  get bytes(): number {
    let total = 0;
    for (const lane of this.#lanes.keys()) total += lane.bytes;
    return total;
  }

  /** @param owner whose keys and values they are: what computes them */
  openLane(owner: string): KvLane {
    const lane = new KvLane(this.#shape, owner, this.#spares);
    this.#lanes.set(lane, 0);
    return lane;
  }

  closeLane(lane: KvLane): void {
    lane.close();
    this.#lanes.delete(lane);
  }

  /** Keeps no more than this of what no lane uses. */
  limitSpares(bytesMax: number): void {
    this.#spares.limit(bytesMax);
  }

  /**
   * Makes room in a lane for `slotCount` slots of `positionCount` positions each, at once.
   *
   * @param positionCountMax what its longest row may grow to, as it was reserved
   */
  ensure(lane: KvLane, slotCount: number, positionCount: number, positionCountMax: number): void {
    const slots = Math.max(slotCount, lane.usedCount);
    const needed = Math.max(positionCount, ...lane.lengths);
    if (slots <= lane.slotCapacity && needed <= lane.capacity) return;
    const staysSo = slots <= lane.slotRoom && needed <= lane.capacity;
    const sizes = [...(staysSo ? [lane.capacity] : []), lane.comingCapacity ?? lane.capacity];
    const capacity = sizes.find((size) => size >= needed) ?? grownCapacity(needed, positionCountMax);
    if (!this.#fits(lane, slots, capacity)) this.#shrinkAll();
    this.#spares.limit(this.#limits.bytesMax - this.bytes);
    if (slots <= lane.slotRoom && needed <= lane.capacity) return;
    const slotRoom = this.#spares.slotRoom(slots, capacity) ?? this.#slotRoom(slots, capacity);
    if (this.#fits(lane, slots, capacity)) lane.reshape(slotRoom, capacity);
    else lane.reshape(slots, roundUpPositions(needed));
  }

  /** Copies for a few milliseconds what lanes hold to where they are resized. Call it once a step, between calls. */
  resizeLanes(prospectOf: (lane: KvLane) => LaneProspect): void {
    const startMs = this.#clock.monotonicMs();
    const isOver = (): boolean => this.#clock.monotonicMs() - startMs >= copyMsPerStep;
    for (const lane of this.#lanes.keys()) {
      if (!lane.isResizing) this.#startResizing(lane, prospectOf(lane));
      if (lane.isResizing && !isOver()) this.#resize(lane, isOver);
    }
  }

  #resize(lane: KvLane, isOver: () => boolean): void {
    const startMs = this.#clock.monotonicMs();
    const copiedBytes = lane.resize(isOver);
    const ms = this.#clock.monotonicMs() - startMs;
    // Of short times little can be said.
    if (ms >= copyMsPerStep / 2) this.#bytesPerMs = (this.#bytesPerMs + copiedBytes / ms) / 2;
  }

  /** Where a lane will soon be full, or has needed little of its room. */
  #startResizing(lane: KvLane, { positionCount, positionCountMax }: LaneProspect): void {
    if (lane.slotRoom === 0) return;
    const needed = Math.max(1, positionCount, ...lane.lengths);
    const hasTooManySlots = this.#hasTooManySlots(lane);
    const isFull =
      lane.capacity < roundUpPositions(positionCountMax) &&
      needed + this.#copyStepCount(lane) > lane.capacity;
    const capacity = isFull
      ? grownCapacity(lane.capacity + 1, positionCountMax)
      : Math.min(lane.capacity, grownCapacity(needed, positionCountMax));
    if (!isFull && !hasTooManySlots && capacity > lane.capacity / 2) return;
    const slots = Math.max(1, lane.usedCount);
    if (this.bytes + slots * capacity * positionBytes(this.#shape) > this.#limits.bytesMax) return;
    lane.startResizing(this.#slotRoom(slots, capacity), capacity);
  }

  /** For how many steps copying all of a lane may go on, with as much again to spare. */
  #copyStepCount(lane: KvLane): number {
    const bytesPerStep = this.#bytesPerMs * copyMsPerStep;
    const addedBytes = lane.usedCount * positionBytes(this.#shape);
    return Math.ceil((2 * lane.heldBytes) / Math.max(1, bytesPerStep - addedBytes));
  }

  #hasTooManySlots(lane: KvLane): boolean {
    const hasFew = Math.max(1, lane.usedCount) <= lane.slotCapacity / 4;
    const stepCount = hasFew ? (this.#lanes.get(lane) ?? 0) + 1 : 0;
    this.#lanes.set(lane, stepCount % patienceSteps);
    return stepCount === patienceSteps;
  }

  /** Whether the lane can have this size beside all others. */
  #fits(lane: KvLane, slots: number, capacity: number): boolean {
    const more =
      slots * capacity +
      (capacity === lane.capacity ? (slots - lane.usedCount) * (lane.comingCapacity ?? 0) : 0) -
      lane.slotCapacity * lane.capacity;
    return this.bytes + more * positionBytes(this.#shape) <= this.#limits.bytesMax;
  }

  /** Rows of a burst may come one by one, and each change of the room copies what all before them hold. */
  #slotRoom(slots: number, capacity: number): number {
    const { kvHeadCount, headSize } = this.#shape;
    const { bytesMax, slotCountMax } = this.#limits;
    const doubled = 2 ** Math.ceil(Math.log2(slots));
    const layerBytes = slots * kvHeadCount * capacity * headSize * Float32Array.BYTES_PER_ELEMENT;
    const wanted = layerBytes < fullRoomBytes ? doubled : slotCountMax;
    const affordable = Math.floor(bytesMax / (capacity * positionBytes(this.#shape)));
    return Math.max(slots, Math.min(wanted, slotCountMax, affordable));
  }

  /** Every lane down to what its rows hold: then the reservations bound the memory in use. */
  #shrinkAll(): void {
    for (const lane of this.#lanes.keys()) {
      lane.stopResizing();
      const capacity = roundUpPositions(Math.max(1, ...lane.lengths));
      if (lane.slotRoom === 0 || (lane.slotCapacity === lane.usedCount && capacity >= lane.capacity))
        continue;
      lane.reshape(Math.max(1, lane.usedCount), Math.min(lane.capacity, capacity));
    }
  }
}

/** A quarter more than needed: growing copies what a row holds, and computing over unused room costs in every step. */
export function grownCapacity(needed: number, positionCountMax: number): number {
  return Math.max(
    roundUpPositions(needed),
    Math.min(roundUpPositions(needed * 1.25), roundUpPositions(positionCountMax)),
  );
}
