// Chooses the lane of a sequence. A step computes each row of a lane over the lane's whole capacity, so one long row
// makes all short rows of its lane equally expensive; therefore an adapter may have several lanes with different
// capacities. A second lane costs additional operations, a third lane costs a separate call; this module converts both
// to positions that a step computes, and compares.
import { grownCapacity, laneBytes } from "../cache/kv-cache.ts";

/** State of a lane of the sequence's adapter. */
export interface LaneState {
  /** Number of slots, including reserved ones. */
  readonly slotCount: number;
  /** Number of positions that each slot has room for. */
  readonly capacity: number;
  /** Total number of filled positions in the lane's slots. */
  readonly heldCount: number;
  /** Reserved maximum length of the lane's longest sequence. */
  readonly positionCountMax: number;
}

export interface SlotRequest {
  readonly slotCount: number;
  /** Number of positions that the sequence will soon hold in each slot. */
  readonly positionCount: number;
  readonly positionCountMax: number;
}

/** Costs that determine when another lane saves time. */
export interface LaneCosts {
  /** Cost of a second lane's operations in a call, in positions. */
  readonly second: number;
  /** Cost of a separate call, in positions. */
  readonly call: number;
  /** Maximum number of positions that can be copied in one step without a noticeable delay. */
  readonly copiedCountMax: number;
}

/**
 * Assumed number of sequences that will share a new lane. The first sequence need not save the lane's whole cost,
 * because others are likely to follow.
 */
const expectedSequenceCount = 4;

/** Sizes for {@link laneBytes} with which it counts positions instead of bytes. */
const inPositions = { bytesPerPosition: 1, bytesPerSlot: 0 };

/**
 * Chooses the lane that costs the least for a sequence. Considers only lanes that, with all reservations, take no more
 * memory than the first lane would.
 *
 * @param lanes lanes of the sequence's adapter; the first is the lane with which the scheduler has counted. If empty,
 * a new lane is chosen
 * @param sequenceCount number of similar sequences that may share a new lane
 * @returns index of the lane in `lanes`; null for a new lane
 */
export function placeSequence(
  need: SlotRequest,
  lanes: readonly LaneState[],
  costs: LaneCosts,
  sequenceCount = expectedSequenceCount,
): number | null {
  const newCapacity = grownCapacity(need.positionCount, need.positionCountMax);
  const share = lanes.length === 1 ? costs.second : costs.call;
  const own = {
    place: null,
    cost: need.slotCount * newCapacity + share / sequenceCount,
    bytes: laneBytes(need.slotCount, need.positionCountMax, inPositions),
  };
  const options = lanes.map((lane, place) => ({ place, ...joining(lane, need, costs) }));
  if (options.length === 0) return null;
  const bytesMax = options[0].bytes;
  const [best] = [...options, own]
    .filter(({ bytes }) => bytes <= bytesMax)
    .toSorted((one, other) => one.cost - other.cost);
  return best.place;
}

/** Returns the additional cost and memory of a lane if the sequence joins it. */
function joining(
  { slotCount, capacity, heldCount, positionCountMax }: LaneState,
  need: SlotRequest,
  { copiedCountMax }: LaneCosts,
): { readonly cost: number; readonly bytes: number } {
  const longest = Math.max(positionCountMax, need.positionCountMax);
  const grown = need.positionCount <= capacity ? capacity : grownCapacity(need.positionCount, longest);
  const slots = slotCount + need.slotCount;
  const isCopied = grown > capacity && heldCount > copiedCountMax;
  return {
    cost: isCopied ? Infinity : slots * grown - slotCount * capacity,
    bytes: laneBytes(slots, longest, inPositions) - laneBytes(slotCount, positionCountMax, inPositions),
  };
}
