// All lanes of keys and values, and the memory they may take. Lanes grow as their rows grow and shrink when most of
// their room is unused, since a step computes over the whole capacity of a lane.
// Whether a request may start is decided before, in the scheduler: its whole need is reserved, so growing never fails.
import { assert } from "../../domain/assert.ts";
import { KvLane, positionBytes, roundUpPositions, roundUpSlots } from "./kv-lane.ts";
import type { ModelShape } from "../model-shape.ts";

/** Short answers leave a lane and come to it within a few steps. */
const patienceSteps = 64;

/** The bytes to set aside for a lane whose slots each may grow to `positionCountMax` positions. */
export function laneBytes(slotCount: number, positionCountMax: number, bytesPerPosition: number): number {
  return roundUpSlots(slotCount) * roundUpPositions(positionCountMax) * bytesPerPosition;
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

export class KvCache {
  readonly #shape: ModelShape;
  readonly #bytesMax: number;
  /** For how many steps in a row each has needed few of its slots. */
  readonly #lanes = new Map<KvLane, number>();

  constructor(shape: ModelShape, bytesMax: number) {
    this.#shape = shape;
    this.#bytesMax = bytesMax;
  }

  /** What the slabs take at this moment. */
  get bytes(): number {
    let total = 0;
    for (const lane of this.#lanes.keys()) total += lane.bytes;
    return total;
  }

  openLane(): KvLane {
    const lane = new KvLane(this.#shape);
    this.#lanes.set(lane, 0);
    return lane;
  }

  closeLane(lane: KvLane): void {
    assert(lane.usedCount === 0, "only an empty lane is closed");
    this.#lanes.delete(lane);
  }

  /**
   * Makes room in a lane for `slotCount` slots of `positionCount` positions each.
   *
   * @param positionCountMax what its longest row may grow to, as it was reserved
   */
  ensure(lane: KvLane, slotCount: number, positionCount: number, positionCountMax: number): void {
    const needed = Math.max(positionCount, ...lane.lengths);
    if (slotCount <= lane.slotCapacity && needed <= lane.capacity) return;
    const slots = Math.max(slotCount, lane.usedCount);
    const capacity = needed <= lane.capacity ? lane.capacity : grownCapacity(needed, positionCountMax);
    const reservedCapacity = roundUpPositions(positionCountMax);
    for (const slotCapacity of [grownSlots(slots, lane.slotCapacity), roundUpSlots(slots)]) {
      const more = slotCapacity * capacity * positionBytes(this.#shape) - lane.bytes;
      if (this.bytes + more > this.#bytesMax) continue;
      lane.reshape(slotCapacity, capacity, reservedCapacity);
      return;
    }
    this.#shrinkAll();
    lane.reshape(roundUpSlots(slots), grownCapacity(needed, positionCountMax), reservedCapacity);
  }

  /**
   * Shrinks a lane that needs less than half of its positions, or has long needed less than a quarter of its slots, which cost
   * nothing but memory. Call it between steps.
   *
   * @param positionCount what prompts that are not computed yet will fill
   */
  relax(lane: KvLane, positionCount: number, positionCountMax: number): void {
    const slotCapacity = roundUpSlots(Math.max(1, lane.usedCount));
    const capacity = grownCapacity(Math.max(1, positionCount, ...lane.lengths), positionCountMax);
    const stepsWithFewSlots = slotCapacity <= lane.slotCapacity / 4 ? (this.#lanes.get(lane) ?? 0) + 1 : 0;
    const hasTooManySlots = stepsWithFewSlots >= patienceSteps;
    this.#lanes.set(lane, hasTooManySlots ? 0 : stepsWithFewSlots);
    if (!hasTooManySlots && capacity > lane.capacity / 2) return;
    lane.reshape(
      hasTooManySlots ? slotCapacity : lane.slotCapacity,
      Math.min(capacity, lane.capacity),
      roundUpPositions(positionCountMax),
    );
  }

  /** Every lane down to what its rows hold: then the reservations bound the memory in use. */
  #shrinkAll(): void {
    for (const lane of this.#lanes.keys()) {
      const capacity = roundUpPositions(Math.max(1, ...lane.lengths));
      lane.reshape(
        Math.min(lane.slotCapacity, roundUpSlots(Math.max(1, lane.usedCount))),
        Math.min(lane.capacity, capacity),
      );
    }
  }
}

/**
 * As many as there are, or twice that: rows of a burst come one by one, and each growth moves what all before them hold.
 * Slots that are never written take no memory of the machine.
 */
function grownSlots(needed: number, slotCapacity: number): number {
  return needed <= slotCapacity ? slotCapacity : roundUpSlots(Math.max(needed, 2 * slotCapacity));
}

/** A quarter more than needed: copying a slab costs about as much as a step, computing over unused room costs in every step. */
function grownCapacity(needed: number, positionCountMax: number): number {
  return Math.max(
    roundUpPositions(needed),
    Math.min(roundUpPositions(needed * 1.25), roundUpPositions(positionCountMax)),
  );
}
