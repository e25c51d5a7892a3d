// Options of supervised fine-tuning, with defaults.

import type { BasePrecision } from "../trainer/base-precision.ts";

/** Effective configuration: the request's options, with defaults for nulls. */
export interface SupervisedConfig {
  /** Precision of multiplications with the base model's weights; null lets the server choose. */
  readonly basePrecision: BasePrecision | null;
  /** Number of conversations in one optimizer step; at least 1. */
  readonly batchSize: number;
  /** Learning rate, above 0. A list has one rate for each batch of the job, in training order. */
  readonly learningRate: number | readonly number[];
  /** Number of epochs; at least 1. */
  readonly epochCount: number;
  /**
   * True if each epoch has its own order, drawn from the job's seed; false for the order in which conversations were
   * sent.
   */
  readonly isShuffled: boolean;
  /** At least 0: weight decay of AdamW. */
  readonly weightDecay: number;
  /** At least 0: gradients are clipped to this norm; 0 disables clipping. */
  readonly gradientNormMax: number;
  /**
   * Assistant messages to train on: all, or only the last message of the conversation, which must then be the
   * assistant's.
   */
  readonly assistantTurns: AssistantTurns;
}

export type AssistantTurns = "all" | "last";

/** Options of a request; null or absent means the default. */
export type SupervisedConfigInput = {
  readonly [Field in keyof SupervisedConfig]?: SupervisedConfig[Field] | null;
};

/** Returns the effective configuration. The defaults are those of the client libraries that send such jobs. */
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

/** Returns the number of batches of a job. No batch contains conversations of two epochs. */
export function batchCountOf(
  { batchSize, epochCount }: Pick<SupervisedConfig, "batchSize" | "epochCount">,
  conversationCount: number,
): number {
  return Math.ceil(conversationCount / batchSize) * epochCount;
}
