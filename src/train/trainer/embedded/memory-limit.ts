// Estimates the memory of a job from its largest rounds, and refuses a job that needs more than training may have. Without
// the check, the operating system would end the process in the middle of a step.
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
import { packKinds } from "../packing/packs.ts";
import type { TrainingSequence } from "../trainer.ts";

/** What a process of this kind holds before it has a model, its libraries included. */
const processBytes = 120e6;

/** What each of several compute threads holds beside, its copy of our code included. */
const threadBytes = 60e6;

/** What the runtime keeps for an operation of a program. */
const operationBytes = 8e3;

/** The adapter itself, both moments of AdamW, its gradient and that of a microbatch, and what the runtime is handed. */
const adapterCopies = 6;

/**
 * What the allocator's gaps and an order of operations that is not quite ours add to the values alive: seen between 1.15
 * (the 135 M shape, 508 to 2,047 tokens at once) and 1.5 (4,095 tokens), by how the allocator's pieces happen to fit.
 */
const valueSlack = 1.5;

/** The programs that compute a kind of round, and those rounds of a job that may need the most. */
export interface ProgramUse {
  /** Each keeps the memory that it has had. */
  readonly graphs: readonly Graph[];
  /** Of as many microbatches each. */
  readonly largest: readonly Round[];
}

/** What needs the most, and how much the whole process does. */
export interface MemoryEstimate {
  /** Resident, in bytes, the weights included. */
  readonly bytes: number;
  readonly round: Round;
}

/**
 * The memory that a training process may come to hold that computes such rounds; the file of the weights, which all programs
 * map, is counted once.
 *
 * @param dataBytes what it holds of the job's data beside
 */
export function estimateMemory(
  {
    config,
    adapter,
    int8Forms,
  }: {
    readonly config: ModelConfig;
    readonly adapter: AdapterShape;
    /** Of the base that is trained over beside the one in float32, which log-probabilities are compared with. */
    readonly int8Forms?: WeightForms | undefined;
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
  const bytes =
    processBytes +
    dataBytes +
    (sideBySide > 1 ? threadBytes * sideBySide : 0) +
    float32Bytes(modelParameters(config)) +
    (int8Forms === undefined ? 0 : trainedBytes(config, int8Forms)) +
    adapterCopies * float32Bytes(loraParameters(config, adapter)) +
    operationBytes * operationCount +
    sum(peaks.map((peak) => peak.bytes));
  const { round } = peaks.reduce((one, other) => (other.bytes > one.bytes ? other : one));
  return { bytes: Math.round(bytes), round };
}

function valueBytes(graphs: readonly Graph[], round: Round): number {
  const peaks = round.map(sizesOf).flatMap((sizes) => graphs.map((graph) => peakBytes(graph, sizes)));
  return valueSlack * sum(peaks);
}

/** Those of the rounds that may need the most: none of the others exceeds them in any of its sizes. */
export function largestOf(rounds: readonly Round[]): readonly Round[] {
  const measured = rounds.map((round) => ({ round, measures: measuresOf(round) }));
  const [first] = measured;
  const largest = (first?.measures ?? []).map((_, index) =>
    measured.reduce((one, other) => (other.measures[index] > one.measures[index] ? other : one)),
  );
  const isLarge = largest.filter(({ measures }, index) => measures[index] > 0);
  return [...new Set(isLarge.map(({ round }) => round))];
}

/** What memory grows with: tokens, trained tokens, and what attends to what. */
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

/** Whether what needs the most has more than one sequence, so that fewer could be computed at once. */
export function hasSeveral({ round }: MemoryEstimate): boolean {
  return round.some(({ sequences_S }) => sequences_S.length > 1);
}

/** @throws ServiceError `unsupported` when the estimate is above the limit */
export function requireWithin(limitBytes: number, { bytes, round }: MemoryEstimate): void {
  if (bytes <= limitBytes) return;
  const sequences = round.flatMap(({ sequences_S }) => sequences_S);
  const tokenCount = sum(round.map(({ tokenIds_L }) => tokenIds_L.length));
  const longest = Math.max(...sequences.map(({ tokenIds }) => tokenIds.length));
  const what =
    sequences.length === 1
      ? `A sequence of ${longest} tokens`
      : `${tokenCount} tokens at once, of sequences of up to ${longest},`;
  throw new ServiceError({
    code: "unsupported",
    message:
      `${what} would need about ${gigabytes(bytes)} GB to train, and training may have ${gigabytes(limitBytes)} GB. ` +
      `Leave such sequences out with training.sequenceLengthMax, or raise training.memoryBytes.`,
  });
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(bytes < 1e9 ? 2 : 1);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** What a plan holds for a sequence of a step: its place on disk, its weight, where it came from. */
const plannedBytes = 400;

/**
 * What a step holds for a token of its batch: the id, whether it trains, its log-probabilities of several kinds, and what
 * metrics make of them.
 */
const tokenBytes = 40;

/** Gathers what decides a job's memory, batch by batch, so that looking at a job takes only a batch's memory. */
export class MemoryNeeds {
  /** By the kind of the rounds and how many microbatches each has. */
  readonly #largest = new Map<string, readonly Round[]>();
  #sequenceCount = 0;
  #tokenCountMax = 0;

  /** @param rounds in which the batch is computed */
  add(batch: readonly TrainingSequence[], rounds: readonly Round[]): void {
    const tokenCount = batch.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
    this.#sequenceCount += batch.length;
    this.#tokenCountMax = Math.max(this.#tokenCountMax, tokenCount);
    for (const round of rounds) {
      const key = `${round[0].kind} ${round.length}`;
      this.#largest.set(key, largestOf([...(this.#largest.get(key) ?? []), round]));
    }
  }

  /** Those that may need the most, apart for each program and each number of microbatches that are computed at once. */
  get rounds(): readonly { readonly layout: Round[number]["kind"]; readonly largest: readonly Round[] }[] {
    return packKinds.flatMap((layout) =>
      [...this.#largest.values()]
        .filter(([[{ kind }]]) => kind === layout)
        .map((largest) => ({ layout, largest })),
    );
  }

  /** What a process holds of the job's data at most. */
  get dataBytes(): number {
    return plannedBytes * this.#sequenceCount + tokenBytes * this.#tokenCountMax;
  }
}
