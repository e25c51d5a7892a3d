import type { StepBudget } from "../schedule/slot-holder.ts";

/** What a step may take in tests of what plans it: small, so that few prompts exceed it. */
export const smallBudget: StepBudget = {
  slotCountMax: 8,
  kvCacheBytesMax: 100_000,
  bytesPerPosition: 10,
  tokensPerStepMax: 100,
  promptChunkTokens: 40,
  logprobTokensPerStepMax: 30,
};
