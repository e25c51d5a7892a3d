// Estimates a job's memory from its largest rounds (microbatches that are computed in parallel), and refuses a job that
// exceeds the limit. Without this check, the operating system would kill the process in the middle of a step.
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Graph } from "../../../lib/graph/graph.ts";
import { peakBytes } from "../../../lib/graph/peak-memory.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import {
  float32Bytes,
  loraParameters,
  modelParameters,
} from "../../../inference/architectures/parameters.ts";
import { type WeightForms, trainedBytes } from "../../../inference/architectures/quantized/weight-forms.ts";
import { type Round, sizesOf } from "./feeds.ts";
import type { AdapterShape } from "./training-graphs.ts";
import { streamedBytes } from "./streamed-programs.ts";
import { packKinds } from "../packing/packs.ts";
import type { TrainingSequence } from "../trainer.ts";

/** Bytes that a training process and its libraries take before a model is loaded. */
const processBytes = 120e6;

/**
 * Additional bytes for each compute thread if several run in parallel, because each loads its own copy of Hone's code.
 */
const threadBytes = 60e6;

/** Bytes that ONNX Runtime keeps for each operation of a loaded program. */
const operationBytes = 8e3;

/**
 * Number of adapter-sized buffers in memory: the adapter, AdamW's two moments, the accumulated gradient, one
 * microbatch's gradient, and the copy in ONNX Runtime's inputs.
 */
const adapterCopies = 6;

/**
 * Factor by which tensors take more memory than estimated, because the allocator leaves gaps and ONNX Runtime reorders
 * operations. Measured with a 135 M model: 1.15 for runs of 508 to 2,047 tokens, 1.5 for 4,095.
 */
const valueSlack = 1.5;

/**
 * The programs that compute one kind of rounds (microbatches in parallel), and those rounds that may need the most
 * memory.
 */
export interface ProgramUse {
  /**
   * Graphs of the programs. A thread runs the programs one after the other, and each reuses the memory of the previous
   * one.
   */
  readonly graphs: readonly Graph[];
  /** The rounds that may need the most memory; all have the same number of microbatches. */
  readonly largest: readonly Round[];
}

/** How a job saves memory. */
export interface Economy {
  /** As in `GradientGraphOptions`. */
  readonly recomputesProducts: boolean;
  /** True to read float32 weights from the model's files for each run, and to keep only a few of them at a time. */
  readonly streamsWeights: boolean;
}

/** The economies, each slower than the one before it. */
export const economies: readonly Economy[] = [
  { recomputesProducts: false, streamsWeights: false },
  { recomputesProducts: true, streamsWeights: false },
  { recomputesProducts: true, streamsWeights: true },
];

/**
 * The round (microbatches in parallel) that needs the most memory, and the whole process's memory while it computes
 * that round.
 */
export interface MemoryEstimate {
  /** Resident memory of the process in bytes, including the weights. */
  readonly bytes: number;
  readonly weightBytes: number;
  readonly round: Round;
}

/**
 * Estimates the peak memory of a training process that computes the rounds in `uses`. Counts the weights once, because
 * all programs map the same file.
 *
 * @param dataBytes bytes of the job's training data
 */
export function estimateMemory(
  {
    config,
    adapter,
    int8Forms,
    streamsWeights = false,
  }: {
    readonly config: ModelConfig;
    readonly adapter: AdapterShape;
    /** Storage forms of the 8-bit base model's weights; absent if training uses float32. */
    readonly int8Forms?: WeightForms | undefined;
    readonly streamsWeights?: boolean;
  },
  uses: readonly ProgramUse[],
  dataBytes = 0,
): MemoryEstimate {
  const peaks = uses.map(({ graphs, largest }) =>
    largest
      .map((round) => ({ round, bytes: valueBytes(graphs, round) }))
      .reduce((one, other) => (other.bytes > one.bytes ? other : one)),
  );
  const sideBySide = Math.max(...uses.flatMap(({ largest }) => largest.map((round) => round.length)));
  const operationCount = sum(
    uses.flatMap(({ graphs, largest: [{ length }] }) => graphs.map(({ nodes }) => length * nodes.length)),
  );
  const streamed = streamedSlack * streamedBytes(config);
  const mappedBytes =
    int8Forms === undefined
      ? float32Bytes(modelParameters(config))
      : // The comparison with float32 comes before the 8-bit weights are read, so the two do not add up.
        Math.max(trainedBytes(config, int8Forms), streamed);
  const weightBytes = streamsWeights ? streamed : mappedBytes;
  const bytes =
    processBytes +
    dataBytes +
    (sideBySide > 1 ? threadBytes * sideBySide : 0) +
    weightBytes +
    adapterCopies * float32Bytes(loraParameters(config, adapter)) +
    operationBytes * operationCount +
    sum(peaks.map((peak) => peak.bytes));
  const { round } = peaks.reduce((one, other) => (other.bytes > one.bytes ? other : one));
  return { bytes: Math.round(bytes), weightBytes, round };
}

/**
 * Factor by which a streamed part takes more memory than its float32 weights: while a weight is read, the stored weight
 * and the memory of the previous part are present too.
 */
const streamedSlack = 2;

function valueBytes(graphs: readonly Graph[], round: Round): number {
  const peaks = round
    .map(sizesOf)
    .map((sizes) => Math.max(...graphs.map((graph) => peakBytes(graph, sizes))));
  return valueSlack * sum(peaks);
}

/**
 * Returns the rounds (microbatches in parallel) that may need the most memory: for each size in `measuresOf`, the round
 * with the largest value.
 */
export function findLargest(rounds: readonly Round[]): readonly Round[] {
  const measured = rounds.map((round) => ({ round, measures: measuresOf(round) }));
  const [first] = measured;
  const largest = (first?.measures ?? []).map((_, index) =>
    measured.reduce((one, other) => (other.measures[index] > one.measures[index] ? other : one)),
  );
  const isLarge = largest.filter(({ measures }, index) => measures[index] > 0);
  return [...new Set(isLarge.map(({ round }) => round))];
}

/** Returns the sizes of a round that determine its memory: tokens, trained tokens, and pairs of tokens in attention. */
function measuresOf(round: Round): readonly number[] {
  const sizes = round.map(sizesOf);
  const total = (measure: (size: (symbol: string) => number) => number): number =>
    sum(sizes.map((each) => measure((symbol) => each.get(symbol) ?? 0)));
  return [
    total((size) => size("L")),
    total((size) => size("N")),
    total((size) => size("R") * size("T") * (size("P") + size("T"))),
    total((size) => size("G") * size("P") ** 2),
  ];
}

/** True if the largest round contains several sequences. Only then can smaller microbatches need less memory. */
export function hasSeveralSequences({ round }: MemoryEstimate): boolean {
  return round.some(({ sequences_S }) => sequences_S.length > 1);
}

/**
 * Checks a job's estimated memory against the limit.
 *
 * @throws ServiceError `unsupported` if the estimate exceeds the limit
 */
export function requireMemoryWithin(
  limitBytes: number,
  { bytes, round }: MemoryEstimate,
  { isInt8 = false }: { readonly isInt8?: boolean } = {},
): void {
  if (bytes <= limitBytes) return;
  const sequences = round.flatMap(({ sequences_S }) => sequences_S);
  const tokenCount = sum(round.map(({ tokenIds_L }) => tokenIds_L.length));
  const longest = Math.max(...sequences.map(({ tokenIds }) => tokenIds.length));
  const what =
    sequences.length === 1
      ? `A sequence of ${longest} tokens`
      : `A microbatch of ${tokenCount} tokens, in sequences of up to ${longest},`;
  throw new ServiceError({
    code: "unsupported",
    message:
      `${what} would need about ${gigabytes(bytes)} GB to train; the limit is ${gigabytes(limitBytes)} GB. ` +
      `Exclude such sequences with training.sequenceLengthMax, or raise training.memoryBytes.` +
      (isInt8 ? " A job with base_precision float32 needs less memory, but more time." : ""),
  });
}

/** Returns a sentence to the creator of a job that streams weights. */
export function streamedWarning(limitBytes: number): string {
  return (
    `With all weights, the job would exceed the memory limit of ${gigabytes(limitBytes)} GB. So each step reads the ` +
    "weights from the model's files, a few at a time, and takes longer."
  );
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(bytes < 1e9 ? 2 : 1);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Bytes that a job's plan keeps for each sequence: its location on disk, its weight and its origin. */
const plannedBytes = 400;

/**
 * Bytes that a training step keeps for each token: its id, its mask, several log-probabilities, and values derived from
 * them for metrics.
 */
const tokenBytes = 40;

/**
 * Collects the sizes that determine a job's memory. The caller adds one batch at a time, so that only one batch is in
 * memory.
 */
export class MemoryNeeds {
  /** The largest rounds so far. Each key combines a token layout and a number of parallel microbatches. */
  readonly #largest = new Map<string, readonly Round[]>();
  #sequenceCount = 0;
  #tokenCountMax = 0;

  /**
   * Adds the sizes of one batch.
   *
   * @param rounds the rounds into which the trainer divides the batch
   */
  add(batch: readonly TrainingSequence[], rounds: readonly Round[]): void {
    const tokenCount = batch.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
    this.#sequenceCount += batch.length;
    this.#tokenCountMax = Math.max(this.#tokenCountMax, tokenCount);
    for (const round of rounds) {
      const key = `${round[0].kind} ${round.length}`;
      this.#largest.set(key, findLargest([...(this.#largest.get(key) ?? []), round]));
    }
  }

  /**
   * The rounds (microbatches in parallel) that may need the most memory, one entry per token layout and number of
   * microbatches.
   */
  get rounds(): readonly { readonly layout: Round[number]["kind"]; readonly largest: readonly Round[] }[] {
    return packKinds.flatMap((layout) =>
      [...this.#largest.values()]
        .filter(([[{ kind }]]) => kind === layout)
        .map((largest) => ({ layout, largest })),
    );
  }

  /** Bytes of the job's plan and of its largest step's training data. */
  get dataBytes(): number {
    return plannedBytes * this.#sequenceCount + tokenBytes * this.#tokenCountMax;
  }
}
