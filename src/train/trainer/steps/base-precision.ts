// Compares the log-probabilities of a quantized base model with those of the same model in float32, on a sample of the
// job's data. The job reports the result before its first step.
import type { BasePrecision } from "../../../base/domain/trainer/base-precision.ts";
import type { PlannedBatch, PlannedSequence } from "../data/optimizer-batches.ts";
import type { Metrics } from "../job-metrics.ts";
import type { TrainingPlan } from "../plans/plan.ts";
import type { Trainer } from "../trainer.ts";

/**
 * Number of tokens in the sample at which no further sequence is added. If a job has fewer tokens, all its sequences
 * are compared.
 */
const sampleTokens = 256;

/** Largest expected mean difference in nats. A model that tolerates quantization has less than half of it. */
const expectedMeanMax = 0.25;

export interface PrecisionDifference {
  readonly metrics: Metrics;
  /** Warning to the job's creator; null if the difference is not larger than expected. */
  readonly warning: string | null;
}

/**
 * Compares quantized and float32 weights on a sample, with one forward pass for each. Does nothing if training uses
 * float32.
 */
export async function comparePrecision(
  trainer: Trainer,
  { batches, read }: Pick<TrainingPlan, "batches" | "read">,
  { basePrecision, signal }: { readonly basePrecision: BasePrecision; readonly signal: AbortSignal },
): Promise<PrecisionDifference> {
  const sample = sampleOf(batches);
  if (basePrecision === "float32" || sample.length === 0) return { metrics: {}, warning: null };
  const sequences = read(sample);
  const rounded = await trainer.forward(sequences, { id: "rounded base", signal });
  const exact = await trainer.forward(sequences, { id: "float32 base", signal }, { isFloat32: true });
  const differences = rounded.logprobs.flatMap((values, row) =>
    Array.from(values, (value, index) => Math.abs(value - exact.logprobs[row][index])),
  );
  const mean = differences.reduce((sum, nats) => sum + nats, 0) / differences.length;
  const largest = differences.reduce((one, other) => Math.max(one, other), 0);
  return {
    metrics: {
      "loss/base_precision_difference_mean": mean,
      "loss/base_precision_difference_max": largest,
    },
    warning: mean <= expectedMeanMax ? null : precisionWarning(basePrecision, mean),
  };
}

function precisionWarning(basePrecision: BasePrecision, mean: number): string {
  return (
    `Over the base model in ${basePrecision}, log-probabilities differ from those over float32 by ${mean.toPrecision(3)} nats on ` +
    `average; at most ${expectedMeanMax} is expected. This model loses much precision by rounding: train with ` +
    "base_precision float32."
  );
}

/** Returns the sequences of the first steps, each once, until the sample has enough tokens. */
function sampleOf(batches: readonly PlannedBatch[]): PlannedBatch {
  const sample = new Set<PlannedSequence>();
  let tokenCount = 0;
  for (const sequence of batches.flat()) {
    if (tokenCount >= sampleTokens) break;
    if (sample.has(sequence)) continue;
    sample.add(sequence);
    tokenCount += sequence.tokenCount;
  }
  return [...sample];
}
