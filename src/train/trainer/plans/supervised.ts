// Makes the plan of a supervised job. Shuffles the conversations by the seed, unless the job keeps their order, and
// takes a fixed number per step. The loss is cross-entropy over the tokens of the assistant's turns.
import type { JobCounts } from "../../../base/domain/job.ts";
import type { ExampleConversation } from "../../../base/domain/supervised/conversation.ts";
import type { SupervisedConfig } from "../../../base/domain/supervised/supervised-config.ts";
import type { TurnRenderer } from "../../trajectories/example-sequences.ts";
import { supervisedAdamW } from "../adamw.ts";
import { cutIntoExampleBatches } from "../data/example-batches.ts";
import { type Example, type ExampleData, prepareExamples } from "../data/example-data.ts";
import type { PreparedLines } from "../prepared/token-file.ts";
import { startMetrics, stepMetrics, versionMetrics } from "../job-metrics.ts";
import { heldOutOf } from "./held-out.ts";
import { type TrainingPlan, shortestOf, stepCountsOf } from "./plan.ts";

/** The conversations of one step, including dropped ones. */
interface ExampleBatch {
  readonly examples: readonly Example[];
  readonly learningRate: number;
  /** 0-based index of the epoch. */
  readonly epoch: number;
}

export async function planSupervised(
  config: SupervisedConfig,
  conversations: PreparedLines<ExampleConversation>,
  model: { readonly tokenizer: TurnRenderer; readonly sequenceLengthMax: number },
  { seed, read }: { readonly seed: string } & Pick<TrainingPlan, "read">,
): Promise<TrainingPlan> {
  const { assistantTurns, weightDecay, gradientNormMax } = config;
  const data = await prepareExamples(conversations, { ...model, assistantTurns });
  const trainedCount = data.examples.length - (config.heldOutCount ?? 0);
  const examples = data.examples.slice(0, trainedCount);
  // A batch in which every conversation is dropped is not a step. The learning rates of the remaining batches do not
  // change.
  const cut = cutBatches(examples, config, seed).filter((batch) => batch.examples.some(isKept));
  const batches = cut.map((batch) => batch.examples.flatMap(({ sequences }) => sequences));
  const counts = { ...countsOf({ ...data, examples }), steps: stepCountsOf(batches, config.epochCount) };
  return {
    batches,
    read,
    precalculatesLogprobs: false,
    importanceTruncation: 0,
    loss: { kind: "cross-entropy" },
    comparedRows: batches.map(() => []),
    optimizerStep: (index) => ({
      ...supervisedAdamW,
      weightDecay,
      gradientNormMax,
      learningRate: cut[index].learningRate,
    }),
    counts,
    warnings: data.warnings,
    checked: shortestOf(batches),
    heldOut: heldOutOf(data.examples.slice(trainedCount), {
      batchSize: config.batchSize,
      epochs: cut.map(({ epoch }) => epoch),
    }),
    preferences: null,
    metrics: {
      start: startMetrics(batches.length, counts),
      step: (index, { recorded, gradient, step, seconds }) => {
        const { learningRate, examples: stepExamples } = cut[index];
        const {
          max_logprob_difference: _greatest,
          mean_logprob_difference: _average,
          num_datums: _sequences,
          ...metrics
        } = stepMetrics({
          batch: recorded,
          gradient,
          step,
          learningRate,
          seconds,
        });
        return { ...metrics, ...sizesOf(stepExamples, seconds) };
      },
      event: (_index, step) => step,
      version: (steps, seconds) => versionMetrics(steps, counts, seconds),
      startWarning: () => null,
      result: null,
    },
  };
}

/** Divides the conversations into batches, and gives each batch a learning rate. */
function cutBatches(
  examples: readonly Example[],
  config: SupervisedConfig,
  seed: string,
): readonly ExampleBatch[] {
  const { learningRate, batchSize } = config;
  const perEpoch = Math.ceil(examples.length / batchSize);
  return cutIntoExampleBatches(examples, config, { kind: "supervised", seed }).map((batch, index) => ({
    examples: batch,
    learningRate: typeof learningRate === "number" ? learningRate : learningRate[index],
    epoch: Math.floor(index / perEpoch),
  }));
}

function isKept({ sequences }: Example): boolean {
  return sequences.length > 0;
}

function countsOf({ examples, dropped }: ExampleData): JobCounts {
  return {
    groupsSubmitted: 0,
    groupsTrainable: 0,
    trajectories: examples.length,
    sequences: examples.reduce((count, { sequences }) => count + sequences.length, 0),
    trainableTokens: examples.reduce((count, { trainableTokenCount }) => count + trainableTokenCount, 0),
    skipped: dropped,
    skippedGroups: {},
  };
}

/** Returns metrics about the size of a step under the names that clients know. */
function sizesOf(examples: readonly Example[], seconds: number): Readonly<Record<string, number>> {
  const kept = examples.filter(isKept);
  const tokens = kept.flatMap(({ sequences }) => sequences.map((sequence) => sequence.tokenCount));
  const tokenCount = tokens.reduce((sum, length) => sum + length, 0);
  return {
    num_trajectories: kept.length,
    num_tokens: tokenCount,
    num_trainable_tokens: kept.reduce((sum, { trainableTokenCount }) => sum + trainableTokenCount, 0),
    num_dropped_trajectories: examples.length - kept.length,
    ...(seconds > 0 ? { tokens_per_second: tokenCount / seconds } : {}),
  };
}
