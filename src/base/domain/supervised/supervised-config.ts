// Options of supervised fine-tuning, with their defaults.
import {
  type PassesConfig,
  type Requested,
  resolvePasses,
  usualLearningRate,
} from "../trainer/passes-config.ts";

/** Options that a job uses: those of the request, and defaults for options that are null in the request. */
export interface SupervisedConfig extends PassesConfig {
  /** Learning rate, above 0. A list has one rate for each batch of the job, in the order of training. */
  readonly learningRate: number | readonly number[];
  /**
   * Assistant messages to train on: all of them, or only the last message of each conversation. In the latter case, the
   * last message must be the assistant's.
   */
  readonly assistantTurns: AssistantTurns;
}

export type AssistantTurns = "all" | "last";

/** Number of conversations in a step by default, as in the client libraries that send such jobs. */
const usualBatchSize = 2;

export type SupervisedConfigInput = Requested<SupervisedConfig>;

export function resolveSupervisedConfig(input: SupervisedConfigInput): SupervisedConfig {
  return {
    ...resolvePasses(input, usualBatchSize),
    learningRate: input.learningRate ?? usualLearningRate,
    assistantTurns: input.assistantTurns ?? "all",
  };
}

/** Returns the number of batches of a job. No batch has conversations from two epochs. */
export function batchCountOf(
  { batchSize, epochCount }: Pick<SupervisedConfig, "batchSize" | "epochCount">,
  conversationCount: number,
): number {
  return Math.ceil(conversationCount / batchSize) * epochCount;
}
