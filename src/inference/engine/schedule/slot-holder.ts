// The planners' view of holders: requests that hold slots or wait for them; and the budget of slots and memory.

/** Rank among everything that waits or runs. */
export interface Ranked {
  /** Lower is earlier. */
  readonly priority: number;
  /** Number of earlier arrivals. */
  readonly arrival: number;
}

/** Slots and memory that a running holder has, or a waiting one needs. */
export interface SlotHolder extends Ranked {
  /** Owner among whom slots and memory are shared. */
  readonly owner: string;
  /** Rows of different lanes cannot share a call. */
  readonly laneId: string;
  /** One for each choice. */
  readonly slotCount: number;
  /** Maximum positions of each slot. */
  readonly positionCountMax: number;
}

/** Contents of a lane, including all reservations of admitted requests. */
export interface LaneLoad {
  readonly laneId: string;
  readonly slotCount: number;
  readonly positionCountMax: number;
  /** Rows that get a token in this step. */
  readonly decodingCount: number;
}

export interface StepBudget {
  readonly slotCountMax: number;
  readonly kvCacheBytesMax: number;
  readonly bytesPerPosition: number;
  readonly tokensPerStepMax: number;
  readonly promptChunkTokens: number;
  /** Limit for prompts whose log-probabilities are wanted: scores after every token take memory and time. */
  readonly logprobTokensPerStepMax: number;
}

/** Compares ranks: negative if the first one comes first. */
export function compareRanks(one: Ranked, other: Ranked): number {
  return one.priority - other.priority || one.arrival - other.arrival;
}
