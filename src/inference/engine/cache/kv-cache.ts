// The KV cache: all lanes (groups of rows that are computed together), and the memory that they may take. A step
// computes over a lane's whole capacity, so lanes grow with their rows and shrink when mostly unused. To resize a lane,
// each step copies for only a few milliseconds, so that no step waits for a large copy.
import type { Clock } from "../../../base/domain/clock.ts";
import type { ModelShape } from "../model-shape.ts";
import { KvLane, roundUpPositions } from "./kv-lane.ts";
import { stateBytes } from "./sequence-states.ts";
import { positionBytes, SpareSlabs } from "./slab.ts";

/**
 * Number of steps after which a mostly unused lane shrinks. With a lower number, a lane would be resized whenever short
 * answers leave it and others enter a few steps later.
 */
const shrinkAfterSteps = 64;

/** Time limit in milliseconds for copying in one step while lanes are resized. */
const copyMsPerStep = 6;

/**
 * Assumed copy speed in bytes per millisecond before the first measurement. It is low, because writing to untouched
 * memory is slow.
 */
const firstBytesPerMs = 2e6;

/**
 * If a layer's keys take more bytes than this, a slab (a lane's memory block) reserves address space for all possible
 * slots. The system allocates memory in pages of 2 MB, so the pages of a smaller slab would take more memory than its
 * slots use.
 */
const fullRoomBytes = 2 ** 20;

/** Maximum total size of spare slabs in bytes. A slab is the memory block of one lane. */
const spareBytesMax = 2 ** 29;

/**
 * Memory of a slot, which holds one row of a batch. The keys and values grow with its positions; the states have a
 * fixed size.
 */
export interface SlotBytes {
  readonly bytesPerPosition: number;
  readonly bytesPerSlot: number;
}

/** Returns the memory that a slot of a model takes. */
export function slotBytesOf(
  shape: Parameters<typeof positionBytes>[0] & Pick<ModelShape, "states">,
): SlotBytes {
  return { bytesPerPosition: positionBytes(shape), bytesPerSlot: stateBytes(shape) };
}

/**
 * Returns the number of bytes to reserve for the slots of one lane if each may grow to `positionCountMax` positions.
 */
export function laneBytes(
  slotCount: number,
  positionCountMax: number,
  { bytesPerPosition, bytesPerSlot }: SlotBytes,
): number {
  return slotCount * (roundUpPositions(positionCountMax) * bytesPerPosition + bytesPerSlot);
}

/**
 * Returns the maximum size of the cache in bytes: its configured limit, or less if all slots together cannot use that
 * much.
 */
export function keyValueBytesMax(
  limits: SlotBytes & {
    readonly kvCacheBytesMax: number;
    readonly slotCountMax: number;
    readonly contextLength: number;
  },
): number {
  const { kvCacheBytesMax, slotCountMax, contextLength, bytesPerPosition, bytesPerSlot } = limits;
  return Math.min(kvCacheBytesMax, slotCountMax * (contextLength * bytesPerPosition + bytesPerSlot));
}

export interface KvCacheLimits {
  readonly bytesMax: number;
  readonly slotCountMax: number;
}

/** Needs of a lane in the near future, beyond the present contents of its rows. */
export interface LaneProspect {
  /** Number of positions that pending prompts will fill. */
  readonly positionCount: number;
  /** Maximum length, in positions, that is reserved for the lane's longest row. */
  readonly positionCountMax: number;
}

export class KvCache {
  readonly #shape: ModelShape;
  readonly #limits: KvCacheLimits;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** For each lane, the number of consecutive steps up to now in which it needed few of its slots. */
  readonly #lanes = new Map<KvLane, number>();
  readonly #spares = new SpareSlabs(spareBytesMax);
  #bytesPerMs = firstBytesPerMs;

  constructor(shape: ModelShape, limits: KvCacheLimits, clock: Pick<Clock, "monotonicMs">) {
    this.#shape = shape;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Current size in bytes of the memory blocks of all lanes. */
  get bytes(): number {
    let total = 0;
    for (const lane of this.#lanes.keys()) total += lane.bytes;
    return total;
  }

  /** @param owner key of the model or adapter that computes the keys and values of the lane */
  openLane(owner: string): KvLane {
    const lane = new KvLane(this.#shape, owner, this.#spares);
    this.#lanes.set(lane, 0);
    return lane;
  }

  closeLane(lane: KvLane): void {
    lane.close();
    this.#lanes.delete(lane);
  }

  /** Frees spare slabs until the remaining ones take at most `bytesMax`. */
  limitSpares(bytesMax: number): void {
    this.#spares.limit(bytesMax);
  }

  /** See {@link SpareSlabs.takeDroppedBytes}. */
  takeDroppedBytes(): number {
    return this.#spares.takeDroppedBytes();
  }

  /**
   * Immediately makes room in a lane for `slotCount` slots of `positionCount` positions each. The room always fits the
   * limit, because the scheduler reserves a request's whole need before the request starts.
   *
   * @param positionCountMax reserved maximum length of the lane's longest row
   */
  ensure(lane: KvLane, slotCount: number, positionCount: number, positionCountMax: number): void {
    const slots = Math.max(slotCount, lane.usedCount);
    const needed = Math.max(positionCount, ...lane.lengths);
    if (slots <= lane.slotCapacity && needed <= lane.capacity) return;
    const fitsNow = slots <= lane.slotRoom && needed <= lane.capacity;
    const sizes = [...(fitsNow ? [lane.capacity] : []), lane.comingCapacity ?? lane.capacity];
    const capacity = sizes.find((size) => size >= needed) ?? grownCapacity(needed, positionCountMax);
    if (!this.#fits(lane, slots, capacity)) this.#shrinkAll();
    this.#spares.limit(this.#limits.bytesMax - this.bytes);
    if (slots <= lane.slotRoom && needed <= lane.capacity) return;
    const slotRoom = this.#spares.slotRoom(slots, capacity) ?? this.#slotRoom(slots, capacity);
    if (this.#fits(lane, slots, capacity)) lane.reshape(slotRoom, capacity);
    else lane.reshape(slots, roundUpPositions(needed));
  }

  /**
   * Continues copying the lanes that are being resized, for a few milliseconds. Must be called once per step, between
   * calls of the model.
   */
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
    // Only long copies count, because short ones give imprecise speeds.
    if (ms >= copyMsPerStep / 2) this.#bytesPerMs = (this.#bytesPerMs + copiedBytes / ms) / 2;
  }

  /** Starts resizing a lane that will soon be full, or that uses little of its room. */
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

  /** Returns twice the number of steps that copying the whole lane should take; the doubling is a safety margin. */
  #copyStepCount(lane: KvLane): number {
    const bytesPerStep = this.#bytesPerMs * copyMsPerStep;
    const addedBytes = lane.usedCount * positionBytes(this.#shape);
    return Math.ceil((2 * lane.heldBytes) / Math.max(1, bytesPerStep - addedBytes));
  }

  #hasTooManySlots(lane: KvLane): boolean {
    const hasFew = Math.max(1, lane.usedCount) <= lane.slotCapacity / 4;
    const stepCount = hasFew ? (this.#lanes.get(lane) ?? 0) + 1 : 0;
    this.#lanes.set(lane, stepCount % shrinkAfterSteps);
    return stepCount === shrinkAfterSteps;
  }

  /** True if the lane can have this size while all other lanes keep theirs. */
  #fits(lane: KvLane, slots: number, capacity: number): boolean {
    const more =
      slots * capacity +
      (capacity === lane.capacity ? (slots - lane.usedCount) * (lane.comingCapacity ?? 0) : 0) -
      lane.slotCapacity * lane.capacity;
    const statesBytes = (slots - lane.usedCount) * stateBytes(this.#shape);
    return this.bytes + more * positionBytes(this.#shape) + statesBytes <= this.#limits.bytesMax;
  }

  /**
   * Returns the number of slots for which to make room. It may be more than needed: the rows of a burst may come one at
   * a time, and each change of the room copies all earlier rows.
   */
  #slotRoom(slots: number, capacity: number): number {
    const { bytesMax, slotCountMax } = this.#limits;
    const doubled = 2 ** Math.ceil(Math.log2(slots));
    const largest = Math.max(
      ...this.#shape.caches.map(({ kvHeadCount, headSize }) => kvHeadCount * headSize),
    );
    const layerBytes = slots * capacity * largest * Float32Array.BYTES_PER_ELEMENT;
    const wanted = layerBytes < fullRoomBytes ? doubled : slotCountMax;
    const { bytesPerPosition, bytesPerSlot } = slotBytesOf(this.#shape);
    const affordable = Math.floor(bytesMax / (capacity * bytesPerPosition + bytesPerSlot));
    return Math.max(slots, Math.min(wanted, slotCountMax, affordable));
  }

  /**
   * Shrinks every lane to the contents of its rows. The memory in use then fits into the reservations of the running
   * requests.
   */
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

/**
 * Returns a capacity a quarter above the need. Spare capacity saves copies when rows grow, but every step computes over
 * it too.
 */
export function grownCapacity(needed: number, positionCountMax: number): number {
  return Math.max(
    roundUpPositions(needed),
    Math.min(roundUpPositions(needed * 1.25), roundUpPositions(positionCountMax)),
  );
}
