// Requests that hold slots or wait for them ("holders"), with the properties that matter for planning, and the budget
// of slots and memory.
import type { SlotBytes } from "../cache/kv-cache.ts";

/** Rank that orders all waiting and running holders. */
export interface Ranked {
  /** Priority; lower values come first. */
  readonly priority: number;
  /** Number of holders that arrived earlier. */
  readonly arrival: number;
}

/** Slots and memory that a running holder has or a waiting holder needs. */
export interface SlotHolder extends Ranked {
  /** Owner for fair shares of slots and memory. */
  readonly owner: string;
  /** Id of the holder's lane. Rows of different lanes cannot share a call, except for pairs of lanes. */
  readonly laneId: string;
  /** Number of slots, one for each choice. */
  readonly slotCount: number;
  /** Maximum number of positions of each slot. */
  readonly positionCountMax: number;
}

/** Slots and rows of a lane, including the full reservations of all admitted requests. */
export interface LaneLoad {
  readonly laneId: string;
  readonly slotCount: number;
  readonly positionCountMax: number;
  /** Number of rows that decode a token in this step. */
  readonly decodingCount: number;
}

export interface StepBudget extends SlotBytes {
  readonly slotCountMax: number;
  readonly kvCacheBytesMax: number;
  readonly tokensPerStepMax: number;
  readonly promptChunkTokens: number;
  /**
   * Maximum number of prompt tokens per step for which log-probabilities are computed. It is limited because logits
   * after every token take memory and time.
   */
  readonly logprobTokensPerStepMax: number;
}

/** Compares two holders by rank; returns a negative number if `one` comes first. */
export function compareRanks(one: Ranked, other: Ranked): number {
  return one.priority - other.priority || one.arrival - other.arrival;
}
