// The KV cache: all lanes (groups of rows that are computed together), and the memory that they may take. A step
// computes over a lane's whole capacity, so lanes grow with their rows and shrink when mostly unused. A lane changes its
// capacity within its memory, because a second block would double the memory of long rows.
import { present } from "../../../base/domain/assert.ts";
import type { ModelShape } from "../model-shape.ts";
import { KvLane, roundUpPositions } from "./kv-lane.ts";
import { stateBytes } from "./sequence-states.ts";
import { positionBytes, Slab } from "./slab.ts";
import { SpareSlabs } from "./spare-slabs.ts";

/**
 * Number of steps after which a lane gives back memory that it does not use. With a lower number, a lane would be copied
 * whenever short answers leave it and others enter a few steps later.
 */
const releaseAfterSteps = 64;

/** A lane that uses at most this fraction of its memory gives the rest back. */
const releaseFraction = 1 / 4;

/**
 * If a layer's keys take at least this many bytes, a slab (a lane's memory block) reserves address space for all rows
 * that the cache can hold. The system allocates memory in pages of 2 MB, so the pages of a smaller slab would take more
 * memory than its slots use.
 */
const fullRoomBytes = 2 ** 20;

/** Maximum total size of spare slabs in bytes. A slab is the memory block of one lane. */
const spareBytesMax = 2 ** 29;

/**
 * Maximum size in bytes of an outgrown slab that is kept for later lanes. Keeping large ones could double the memory of
 * the rows' keys and values.
 */
const outgrownBytesMax = 64 * 2 ** 20;

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

interface LaneRecord {
  /** Key of the model or adapter that computes the keys and values of the lane. */
  readonly owner: string;
  /** Number of consecutive steps up to now in which the lane used little of its memory. */
  roomyStepCount: number;
}

export class KvCache {
  readonly #shape: ModelShape;
  readonly #limits: KvCacheLimits;
  readonly #lanes = new Map<KvLane, LaneRecord>();
  readonly #spares = new SpareSlabs(spareBytesMax);

  constructor(shape: ModelShape, limits: KvCacheLimits) {
    this.#shape = shape;
    this.#limits = limits;
  }

  /** Current size in bytes of the memory blocks of all lanes. */
  get bytes(): number {
    let total = 0;
    for (const lane of this.#lanes.keys()) total += lane.bytes;
    return total;
  }

  /** @param owner key of the model or adapter that computes the keys and values of the lane */
  openLane(owner: string): KvLane {
    const lane = new KvLane(this.#shape);
    this.#lanes.set(lane, { owner, roomyStepCount: 0 });
    return lane;
  }

  closeLane(lane: KvLane): void {
    this.#spares.give(lane.close(), this.#recordOf(lane).owner);
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
    const needed = Math.max(positionCount, lane.longest);
    if (needed <= lane.capacity && slots * lane.capacity <= lane.writtenCount) return;
    const roomy = needed <= lane.capacity ? lane.capacity : grownCapacity(needed, positionCountMax);
    if (!this.#fits(lane, slots, roomy)) this.#shrinkAll();
    const capacity = this.#fits(lane, slots, roomy) ? roomy : roundUpPositions(needed);
    if (slots * capacity <= lane.positionRoom) lane.reshape(slots, capacity);
    else this.#outgrow(lane, slots, capacity);
    this.#spares.limit(this.#limits.bytesMax - this.bytes);
  }

  /**
   * Shrinks lanes that use little of their capacity, and gives back memory that lanes have not used for long. Must be
   * called once per step, between calls of the model.
   */
  shrinkLanes(prospectOf: (lane: KvLane) => LaneProspect): void {
    for (const [lane, record] of this.#lanes) {
      if (lane.positionRoom === 0) continue;
      const { positionCount, positionCountMax } = prospectOf(lane);
      const needed = Math.max(1, positionCount, lane.longest);
      const capacity = grownCapacity(needed, positionCountMax);
      if (capacity <= lane.capacity / 2) lane.reshape(lane.usedCount, capacity);
      const usedCount = Math.max(1, lane.usedCount) * lane.capacity;
      const isRoomy = usedCount <= lane.writtenCount * releaseFraction;
      record.roomyStepCount = isRoomy ? record.roomyStepCount + 1 : 0;
      if (record.roomyStepCount === releaseAfterSteps) this.#release(lane, lane.capacity);
    }
  }

  /** True if the lane can have this size while all other lanes keep theirs. */
  #fits(lane: KvLane, slots: number, capacity: number): boolean {
    const isInPlace = slots * capacity <= lane.positionRoom;
    const count = isInPlace ? Math.max(slots * capacity, lane.writtenCount) : slots * capacity;
    return count <= this.#affordableCount(lane, slots);
  }

  /** Returns the number of positions of all slots together for which the lane can have memory. */
  #affordableCount(lane: KvLane, slots: number): number {
    const statesBytes = (slots - lane.usedCount) * stateBytes(this.#shape);
    const bytesLeft = this.#limits.bytesMax - this.bytes - statesBytes;
    return lane.writtenCount + bytesLeft / positionBytes(this.#shape);
  }

  /** Moves a lane to a larger slab. */
  #outgrow(lane: KvLane, slots: number, capacity: number): void {
    const { owner } = this.#recordOf(lane);
    const positionCount = slots * capacity;
    const usable = Math.max(positionCount / releaseFraction, this.#smallCount);
    const spare = this.#spares.take(
      positionCount,
      Math.min(usable, this.#affordableCount(lane, slots)),
      owner,
    );
    const outgrown = lane.moveTo(spare ?? this.#newSlab(slots, capacity), capacity);
    if (outgrown.writtenBytes <= outgrownBytesMax) this.#spares.give(outgrown, owner);
    else this.#spares.drop(outgrown);
  }

  /** Moves a lane to a slab in which only its used slots take memory. */
  #release(lane: KvLane, capacity: number): void {
    this.#spares.drop(lane.moveTo(this.#newSlab(Math.max(1, lane.usedCount), capacity), capacity));
    this.#recordOf(lane).roomyStepCount = 0;
  }

  /**
   * Creates a slab with at least this room. It has more address space than needed, because the rows of a burst may come
   * one at a time, and each move to a larger slab copies all earlier rows.
   */
  #newSlab(slots: number, capacity: number): Slab {
    const { bytesMax, slotCountMax } = this.#limits;
    const positionCount = slots * capacity;
    const usable = slotCountMax * roundUpPositions(this.#shape.contextLength);
    const largest = Math.min(usable, Math.floor(bytesMax / positionBytes(this.#shape)));
    const doubled = 2 ** Math.ceil(Math.log2(slots)) * capacity;
    const wanted = Math.min(largest, positionCount < this.#smallCount ? doubled : largest);
    try {
      return new Slab(this.#shape, Math.max(positionCount, wanted), capacity);
    } catch (error) {
      // The system may refuse address space that it would never have to back with memory.
      if (error instanceof RangeError) return new Slab(this.#shape, positionCount, capacity);
      throw error;
    }
  }

  /** Number of positions below which a slab is small; see {@link fullRoomBytes}. */
  get #smallCount(): number {
    const sizes = this.#shape.caches.map(({ kvHeadCount, headSize }) => kvHeadCount * headSize);
    return fullRoomBytes / (Math.max(...sizes) * Float32Array.BYTES_PER_ELEMENT);
  }

  /**
   * Shrinks every lane to the contents of its rows. The memory in use then fits into the reservations of the running
   * requests.
   */
  #shrinkAll(): void {
    for (const lane of this.#lanes.keys()) {
      const capacity = Math.min(lane.capacity, roundUpPositions(Math.max(1, lane.longest)));
      const isExact = lane.writtenCount <= Math.max(1, lane.usedCount) * capacity;
      if (lane.positionRoom > 0 && !isExact) this.#release(lane, capacity);
    }
  }

  #recordOf(lane: KvLane): LaneRecord {
    return present(this.#lanes.get(lane), "the record of an open lane");
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
