// Options of supervised fine-tuning, with their defaults.

import type { BasePrecision } from "../trainer/base-precision.ts";

/** Options that a job uses: those of the request, and defaults for options that are null in the request. */
export interface SupervisedConfig {
  /** Precision of multiplications with the base model's weights; null lets the server choose. */
  readonly basePrecision: BasePrecision | null;
  /** Number of conversations in one optimizer step; at least 1. */
  readonly batchSize: number;
  /** Learning rate, above 0. A list has one rate for each batch of the job, in the order of training. */
  readonly learningRate: number | readonly number[];
  /** Number of epochs; at least 1. */
  readonly epochCount: number;
  /**
   * True if each epoch has its own order of conversations, drawn from the job's seed. False if epochs keep the order in
   * which the conversations were sent.
   */
  readonly isShuffled: boolean;
  /** Weight decay of AdamW, at least 0. */
  readonly weightDecay: number;
  /** Norm to which gradients are clipped, at least 0; 0 disables clipping. */
  readonly gradientNormMax: number;
  /**
   * Assistant messages to train on: all of them, or only the last message of each conversation. In the latter case, the
   * last message must be the assistant's.
   */
  readonly assistantTurns: AssistantTurns;
  /**
   * Number of conversations at the end of the data that the job does not train on. It measures the loss on them after each epoch.
   * Absent if there are none.
   */
  readonly heldOutCount?: number;
  /** Seed from the request, from which the job's own seed is derived; absent if the request has none. */
  readonly seed?: number;
}

export type AssistantTurns = "all" | "last";

/** Options as a request sends them. Null or absent means the default. */
export type SupervisedConfigInput = {
  readonly [Field in keyof SupervisedConfig]?: SupervisedConfig[Field] | null;
};

/** Returns the options in effect. The defaults are those of the client libraries that send such jobs. */
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
    ...(input.heldOutCount ? { heldOutCount: input.heldOutCount } : {}),
  };
}

/** Returns the number of batches of a job. No batch has conversations from two epochs. */
export function batchCountOf(
  { batchSize, epochCount }: Pick<SupervisedConfig, "batchSize" | "epochCount">,
  conversationCount: number,
): number {
  return Math.ceil(conversationCount / batchSize) * epochCount;
}
