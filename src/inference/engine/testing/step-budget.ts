import type { StepBudget } from "../schedule/slot-holder.ts";

/** Budget of a step in planner tests: small, so that few prompts exceed it. */
export const smallBudget: StepBudget = {
  slotCountMax: 8,
  kvCacheBytesMax: 100_000,
  bytesPerPosition: 10,
  bytesPerSlot: 0,
  tokensPerStepMax: 100,
  promptChunkTokens: 40,
  logprobTokensPerStepMax: 30,
};
