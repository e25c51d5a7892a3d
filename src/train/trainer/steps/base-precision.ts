// Compares the log-probabilities of a quantized base model with those of the same model in float32, on a sample of a
// job's data. Only the first job over a base model makes this comparison; every job reports its result before the first
// step.
import type { BasePrecision } from "../../../base/domain/trainer/base-precision.ts";
import type { OptimizerBatch, PlannedBatch, PlannedSequence } from "../data/optimizer-batches.ts";
import type { Metrics } from "../job-metrics.ts";
import type { TrainingPlan } from "../plans/plan.ts";
import type { Trainer } from "../trainer.ts";

/**
 * Once the sample has this number of tokens, no further sequence is added. If a job has fewer tokens, all its sequences
 * are compared.
 */
const sampleTokens = 256;

/** Largest expected mean difference in nats. Models that tolerate quantization stay below half of it. */
const expectedMeanMax = 0.25;

export interface PrecisionDifference {
  readonly metrics: Metrics;
  /** Warning to the job's creator; null if the difference is not larger than expected. */
  readonly warning: string | null;
}

/** Absolute differences of log-probabilities in nats. */
export interface Differences {
  readonly mean: number;
  readonly largest: number;
}

/** Remembers the differences of one base model in one precision. */
export interface DifferenceMemory {
  readonly read: () => Differences | null;
  readonly write: (differences: Differences) => void;
}

/**
 * Returns the differences between quantized and float32 weights. If `memory` has none, compares the base model on a
 * sample, with one forward pass for each precision. Does nothing if training uses float32.
 */
export async function comparePrecision(
  trainer: Trainer,
  { batches, read }: Pick<TrainingPlan, "batches" | "read">,
  {
    basePrecision,
    differences: memory,
    signal,
  }: {
    readonly basePrecision: BasePrecision;
    readonly differences?: DifferenceMemory | null | undefined;
    readonly signal: AbortSignal;
  },
): Promise<PrecisionDifference> {
  const sample = sampleOf(batches);
  if (basePrecision === "float32" || sample.length === 0) return { metrics: {}, warning: null };
  const known = memory?.read() ?? null;
  const differences = known ?? (await compare(trainer, read(sample), signal));
  if (known === null) memory?.write(differences);
  const { mean, largest } = differences;
  return {
    metrics: {
      "loss/base_precision_difference_mean": mean,
      "loss/base_precision_difference_max": largest,
    },
    warning: mean <= expectedMeanMax ? null : precisionWarning(basePrecision, mean),
  };
}

async function compare(
  trainer: Trainer,
  sequences: OptimizerBatch,
  signal: AbortSignal,
): Promise<Differences> {
  // Omits the adapter, so that the result applies to every model with this base.
  const ofBase = { hasAdapter: false };
  // Float32 comes first, before the pages of the 8-bit weights are in memory.
  const exact = await trainer.forward(
    sequences,
    { id: "float32 base", signal },
    { ...ofBase, isFloat32: true },
  );
  const rounded = await trainer.forward(sequences, { id: "rounded base", signal }, ofBase);
  const nats = rounded.logprobs.flatMap((values, row) =>
    Array.from(values, (value, index) => Math.abs(value - exact.logprobs[row][index])),
  );
  const sum = nats.reduce((total, each) => total + each, 0);
  return { mean: sum / nats.length, largest: nats.reduce((one, other) => Math.max(one, other), 0) };
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
