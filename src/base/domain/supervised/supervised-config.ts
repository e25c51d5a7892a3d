// The options of supervised fine-tuning, with their defaults.

import type { BasePrecision } from "../trainer/base-precision.ts";

/** The configuration as it takes effect; nulls were replaced by defaults. */
export interface SupervisedConfig {
  /** Of the products with the base model's weights; null leaves it to the server. */
  readonly basePrecision: BasePrecision | null;
  /** Conversations of one optimizer step; at least 1. */
  readonly batchSize: number;
  /** Above 0. A list has one for every batch of the job, in the order in which they train. */
  readonly learningRate: number | readonly number[];
  /** How often the job trains on each conversation; at least 1. */
  readonly epochCount: number;
  /** Whether the job's seed decides the order of the conversations, another one for each epoch; else it is theirs. */
  readonly isShuffled: boolean;
  /** At least 0, of AdamW. */
  readonly weightDecay: number;
  /** At least 0: gradients are scaled down to this norm; 0 never scales. */
  readonly gradientNormMax: number;
  /** Which of the assistant's messages train: all of them, or the last message alone, which then must be the assistant's. */
  readonly assistantTurns: AssistantTurns;
}

export type AssistantTurns = "all" | "last";

/** What a request may give; null and absent mean the default. */
export type SupervisedConfigInput = {
  readonly [Field in keyof SupervisedConfig]?: SupervisedConfig[Field] | null;
};

/** The defaults are those of the clients that send such jobs. */
export function resolveSupervisedConfig(input: SupervisedConfigInput): SupervisedConfig {
  return {
    basePrecision: input.basePrecision ?? null,
    batchSize: input.batchSize ?? 2,
    learningRate: input.learningRate ?? 5e-5,
    epochCount: input.epochCount ?? 1,
    isShuffled: input.isShuffled ?? true,
    weightDecay: input.weightDecay ?? 0,
    gradientNormMax: input.gradientNormMax ?? 1,
    assistantTurns: input.assistantTurns ?? "all",
  };
}

/** How many batches a job cuts from its conversations: each epoch begins a batch of its own. */
export function batchCountOf(
  { batchSize, epochCount }: Pick<SupervisedConfig, "batchSize" | "epochCount">,
  conversationCount: number,
): number {
  return Math.ceil(conversationCount / batchSize) * epochCount;
}
