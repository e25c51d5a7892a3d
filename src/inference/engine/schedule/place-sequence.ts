// Chooses the lane of a sequence. A step computes each row over its lane's whole capacity, so one long row makes all
// short rows of the lane expensive; an adapter may therefore have several lanes with different capacities. A second
// lane costs additional operations, and a third lane a separate call; this module expresses both costs as numbers of
// positions.
import { grownCapacity, laneBytes } from "../cache/kv-cache.ts";

/** State of a lane to which the sequence could be added. */
export interface LaneState {
  /** Number of slots, including those reserved for sequences that will copy another sequence's prompt. */
  readonly slotCount: number;
  /** Number of positions for which each slot has room. */
  readonly capacity: number;
  /** Total number of positions that are filled in the lane's slots. */
  readonly heldCount: number;
  /** Maximum length that is reserved for the lane's longest sequence. */
  readonly positionCountMax: number;
}

export interface SlotRequest {
  readonly slotCount: number;
  /** Number of positions that the sequence will soon have in each slot. */
  readonly positionCount: number;
  readonly positionCountMax: number;
}

/** Costs that determine whether another lane saves time. */
export interface LaneCosts {
  /**
   * Cost of the additional operations for a second lane in a call, as the number of positions that take as long to
   * compute.
   */
  readonly second: number;
  /** Cost of a separate call, as the number of positions that take as long to compute. */
  readonly call: number;
  /** Maximum number of positions that one step can copy without a noticeable delay. */
  readonly copiedCountMax: number;
}

/**
 * Assumed number of sequences that will share a new lane. Others are likely to follow, so the first sequence need not
 * save the lane's whole cost.
 */
const expectedSequenceCount = 4;

/** Makes {@link laneBytes} return positions instead of bytes. */
const inPositions = { bytesPerPosition: 1, bytesPerSlot: 0 };

/**
 * Chooses the cheapest lane for a sequence. Considers only lanes that need no more additional memory for the sequence
 * than the first lane.
 *
 * @param lanes lanes of the sequence's adapter; the first is the lane for which the scheduler has reserved memory. If
 * empty, a new lane is chosen
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

/** Returns the additional cost and memory, both in positions, if the sequence joins a lane. */
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
