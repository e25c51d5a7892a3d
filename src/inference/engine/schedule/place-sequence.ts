// Chooses the lane of a sequence. A step computes over a lane's whole capacity for each of its rows, so one long row
// makes all short rows as expensive; lanes of one adapter therefore differ in capacity. A second lane costs its
// operations, a third one a whole call; this pure function counts the positions that a step computes over.
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
  /** Positions that can be copied in one step without a noticeable delay. */
  readonly copiedCountMax: number;
}

/**
 * Assumed number of sequences that will share a new lane. Few future sequences are known, so the first one need not
 * pay for the whole lane.
 */
const expectedSequenceCount = 4;

/** Counts positions instead of bytes. */
const inPositions = { bytesPerPosition: 1, bytesPerSlot: 0 };

/**
 * Chooses the best lane for a sequence. Considers only lanes that, with all reservations, take no more memory than the
 * first lane would.
 *
 * @param lanes the first is the lane that the scheduler has counted with; if empty, a new lane is chosen
 * @param sequenceCount number of similar sequences that may share a new lane
 * @returns its index in `lanes`; null for a new lane
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
