// For tests: the defaults of a model whose makers recommend nothing.
import type { GenerationDefaults } from "../served-base.ts";

export function noDefaults(endTokenIds: readonly number[]): GenerationDefaults {
  return {
    endTokenIds,
    temperature: null,
    topP: null,
    topK: null,
    minP: null,
    repetitionPenalty: null,
    maxTokens: null,
  };
}
