// In which lane a sequence goes: a step computes over the whole capacity of a lane for each of its rows, so a long row among
// short ones makes all of them as long. Lanes of one adapter differ in capacity; a second one costs what its operations take,
// a third one a call. A pure function; what it counts are positions that a step computes over.
import { grownCapacity, laneBytes } from "../cache/kv-cache.ts";

/** What a lane of the sequence's adapter has. */
export interface LaneState {
  /** Promised ones included. */
  readonly slotCount: number;
  /** Positions that each of its slots has room for. */
  readonly capacity: number;
  /** What all of its slots hold together. */
  readonly heldCount: number;
  /** What its longest sequence may grow to. */
  readonly positionCountMax: number;
}

export interface PlacedNeed {
  readonly slotCount: number;
  /** What it will soon hold in each. */
  readonly positionCount: number;
  readonly positionCountMax: number;
}

/** What decides where a second lane begins to pay. */
export interface LaneCosts {
  /** Of the operations of a second lane in a call, in positions. */
  readonly second: number;
  /** Of a call. */
  readonly call: number;
  /** So many positions are copied at once, without that a step becomes noticeably longer. */
  readonly copiedCountMax: number;
}

/** Few of those that come next are known, so a lane for one that has just come need not pay with it alone. */
const sequencesToCome = 4;

/**
 * The lane that is best for a sequence, of those that take no more memory, with all that was promised, than the first would.
 *
 * @param lanes the first is the one that the scheduler has counted with; where there is none, a new one
 * @param sequenceCount how many sequences like it may share a lane of its own
 * @returns its place in `lanes`; null for a lane of its own
 */
export function placeSequence(
  need: PlacedNeed,
  lanes: readonly LaneState[],
  costs: LaneCosts,
  sequenceCount = sequencesToCome,
): number | null {
  const newCapacity = grownCapacity(need.positionCount, need.positionCountMax);
  const share = lanes.length === 1 ? costs.second : costs.call;
  const own = {
    place: null,
    cost: need.slotCount * newCapacity + share / sequenceCount,
    bytes: laneBytes(need.slotCount, need.positionCountMax, 1),
  };
  const options = lanes.map((lane, place) => ({ place, ...joining(lane, need, costs) }));
  if (options.length === 0) return null;
  const bytesMax = options[0].bytes;
  const [best] = [...options, own]
    .filter(({ bytes }) => bytes <= bytesMax)
    .toSorted((one, other) => one.cost - other.cost);
  return best.place;
}

/** What a lane costs more with the sequence, and takes more. */
function joining(
  { slotCount, capacity, heldCount, positionCountMax }: LaneState,
  need: PlacedNeed,
  { copiedCountMax }: LaneCosts,
): { readonly cost: number; readonly bytes: number } {
  const longest = Math.max(positionCountMax, need.positionCountMax);
  const grown = need.positionCount <= capacity ? capacity : grownCapacity(need.positionCount, longest);
  const slots = slotCount + need.slotCount;
  const isCopied = grown > capacity && heldCount > copiedCountMax;
  return {
    cost: isCopied ? Infinity : slots * grown - slotCount * capacity,
    bytes: laneBytes(slots, longest, 1) - laneBytes(slotCount, positionCountMax, 1),
  };
}
