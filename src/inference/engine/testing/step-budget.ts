import type { StepBudget } from "../schedule/slot-holder.ts";

/** Budget of a step for planner tests. It is small, so that a few prompts exceed it. */
export const smallBudget: StepBudget = {
  slotCountMax: 8,
  kvCacheBytesMax: 100_000,
  bytesPerPosition: 10,
  bytesPerSlot: 0,
  tokensPerStepMax: 100,
  promptChunkTokens: 40,
  logprobTokensPerStepMax: 30,
};
