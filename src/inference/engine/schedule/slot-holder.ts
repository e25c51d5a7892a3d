// The planners' view of holders (requests that hold slots or wait for them), and the budget of slots and memory.
import type { SlotBytes } from "../cache/kv-cache.ts";

/** Rank among all waiting and running holders. */
export interface Ranked {
  /** Priority; lower values come first. */
  readonly priority: number;
  /** Number of earlier arrivals. */
  readonly arrival: number;
}

/** Slots and memory that a running holder has or a waiting holder needs. */
export interface SlotHolder extends Ranked {
  /** Owner for fair shares of slots and memory. */
  readonly owner: string;
  /** Lane of the holder; rows of different lanes cannot share a call. */
  readonly laneId: string;
  /** Number of slots, one for each choice. */
  readonly slotCount: number;
  /** Maximum positions of each slot. */
  readonly positionCountMax: number;
}

/** Contents of a lane, including all reservations of admitted requests. */
export interface LaneLoad {
  readonly laneId: string;
  readonly slotCount: number;
  readonly positionCountMax: number;
  /** Number of rows that get a token in this step. */
  readonly decodingCount: number;
}

export interface StepBudget extends SlotBytes {
  readonly slotCountMax: number;
  readonly kvCacheBytesMax: number;
  readonly tokensPerStepMax: number;
  readonly promptChunkTokens: number;
  /**
   * Maximum tokens per step of prompts whose log-probabilities are wanted, because logits after every token take
   * memory and time.
   */
  readonly logprobTokensPerStepMax: number;
}

/** Compares ranks: negative if the first one comes first. */
export function compareRanks(one: Ranked, other: Ranked): number {
  return one.priority - other.priority || one.arrival - other.arrival;
}
