// Whatever holds slots or waits for them, by what the plans need to know of it, and what there is to hold.

/** The place of something that waits or runs among all others. */
export interface Ranked {
  /** Lower is earlier. */
  readonly priority: number;
  /** How much came before it. */
  readonly arrival: number;
}

/** What something that runs holds, or what something that waits will. */
export interface SlotHolder extends Ranked {
  /** Among whom slots and memory are shared out. */
  readonly owner: string;
  /** Rows of different lanes cannot share a call. */
  readonly laneId: string;
  /** One for each choice. */
  readonly slotCount: number;
  /** Positions that each slot may come to hold. */
  readonly positionCountMax: number;
}

/** What a lane holds, with everything that was promised to admitted requests. */
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
  /** Of prompts whose log-probabilities are wanted: scores after every token take memory and time. */
  readonly logprobTokensPerStepMax: number;
}

/** Which of two comes first: negative for the first one. */
export function compareRanks(one: Ranked, other: Ranked): number {
  return one.priority - other.priority || one.arrival - other.arrival;
}
