// Options that supervised and preference training share: both pass over the examples of their data several times.
import type { BasePrecision } from "./base-precision.ts";

/** Options that a job uses. An example is a conversation, a pair of answers, or a labelled answer. */
export interface PassesConfig {
  /** Precision of multiplications with the base model's weights; null lets the server choose. */
  readonly basePrecision: BasePrecision | null;
  /** Number of examples in one optimizer step; at least 1. */
  readonly batchSize: number;
  /** Number of epochs; at least 1. */
  readonly epochCount: number;
  /**
   * True if each epoch has its own order of examples, drawn from the job's seed. False if epochs keep the order in
   * which the examples were sent.
   */
  readonly isShuffled: boolean;
  /** Weight decay of AdamW, at least 0. */
  readonly weightDecay: number;
  /** Norm to which gradients are clipped, at least 0; 0 disables clipping. */
  readonly gradientNormMax: number;
  /**
   * Number of examples at the end of the data that the job does not train on. It measures the loss on them after each
   * epoch. Absent if there are none.
   */
  readonly heldOutCount?: number;
  /** Seed from the request, from which the job's own seed is derived; absent if the request has none. */
  readonly seed?: number;
}

/** Options as a request sends them. Null or absent means the default. */
export type Requested<Config> = { readonly [Field in keyof Config]?: Config[Field] | null };

/** Default learning rate of both kinds of jobs. */
export const usualLearningRate = 5e-5;

/** Returns the options in effect, except the seed. */
export function resolvePasses(
  input: Requested<PassesConfig>,
  usualBatchSize: number,
): Omit<PassesConfig, "seed"> {
  return {
    basePrecision: input.basePrecision ?? null,
    batchSize: input.batchSize ?? usualBatchSize,
    epochCount: input.epochCount ?? 1,
    isShuffled: input.isShuffled ?? true,
    weightDecay: input.weightDecay ?? 0,
    gradientNormMax: input.gradientNormMax ?? 1,
    ...(input.heldOutCount ? { heldOutCount: input.heldOutCount } : {}),
  };
}
