// How much memory a job will need, and its refusal where that is more than training may have: told before the first step,
// not by the operating system in the middle of one.
import { ServiceError } from "../../domain/service-error.ts";
import type { Graph } from "../../graph/graph.ts";
import { peakBytes } from "../../graph/peak-memory.ts";
import type { ModelConfig } from "../../model/config.ts";
import { loraParameters, modelParameters } from "../../model/parameters.ts";
import { type Microbatch, sizesOf } from "./feeds.ts";
import type { AdapterShape } from "./training-graphs.ts";

/** What a process of this kind holds before it has a model, its libraries included. */
const processBytes = 120e6;

/** What the runtime keeps for an operation of a program. */
const operationBytes = 8e3;

/** The adapter itself, both moments of AdamW, its gradient and that of a microbatch, and what the runtime is handed. */
const adapterCopies = 6;

/**
 * What the allocator's gaps and an order of operations that is not quite ours add to the values alive: seen between 1.15
 * (the 135 M shape, 508 to 2,047 tokens at once) and 1.5 (4,095 tokens), by how the allocator's pieces happen to fit.
 */
const valueSlack = 1.5;

/** The programs that compute a kind of microbatch, and those microbatches of a job that may need the most. */
export interface ProgramUse {
  /** Each keeps the memory that it has had. */
  readonly graphs: readonly Graph[];
  readonly largest: readonly Microbatch[];
}

/** What needs the most, and how much the whole process does. */
export interface MemoryEstimate {
  /** Resident, in bytes, the weights included. */
  readonly bytes: number;
  readonly microbatch: Microbatch;
}

/**
 * The memory that a training process may come to hold that computes such microbatches.
 */
export function estimateMemory(
  { config, adapter }: { readonly config: ModelConfig; readonly adapter: AdapterShape },
  uses: readonly ProgramUse[],
): MemoryEstimate {
  const peaks = uses.map(({ graphs, largest }) =>
    largest
      .map((microbatch) => ({ microbatch, bytes: valueBytes(graphs, microbatch) }))
      .reduce((one, other) => (other.bytes > one.bytes ? other : one)),
  );
  const operationCount = sum(uses.flatMap(({ graphs }) => graphs.map(({ nodes }) => nodes.length)));
  const bytes =
    processBytes +
    4 * elementCount(modelParameters(config)) +
    4 * adapterCopies * elementCount(loraParameters(config, adapter)) +
    operationBytes * operationCount +
    sum(peaks.map((peak) => peak.bytes));
  const { microbatch } = peaks.reduce((one, other) => (other.bytes > one.bytes ? other : one));
  return { bytes: Math.round(bytes), microbatch };
}

function valueBytes(graphs: readonly Graph[], microbatch: Microbatch): number {
  const sizes = sizesOf(microbatch);
  return valueSlack * sum(graphs.map((graph) => peakBytes(graph, sizes)));
}

/** Those of the microbatches that may need the most: none of the others exceeds them in any of its sizes. */
export function largestOf(microbatches: readonly Microbatch[]): readonly Microbatch[] {
  const measured = microbatches.map((microbatch) => ({ microbatch, measures: measuresOf(microbatch) }));
  const [first] = measured;
  const largest = (first?.measures ?? []).map((_, index) =>
    measured.reduce((one, other) => (other.measures[index] > one.measures[index] ? other : one)),
  );
  const isLarge = largest.filter(({ measures }, index) => measures[index] > 0);
  return [...new Set(isLarge.map(({ microbatch }) => microbatch))];
}

/** What memory grows with: tokens, trained tokens, and what attends to what. */
function measuresOf(microbatch: Microbatch): readonly number[] {
  const sizes = sizesOf(microbatch);
  const size = (symbol: string): number => sizes.get(symbol) ?? 0;
  const rows = size("R") * size("T") * (size("P") + size("T"));
  return [size("L"), size("N"), rows, size("G") * size("P") ** 2];
}

/** @throws ServiceError `unsupported` when the estimate is above the limit */
export function requireWithin(limitBytes: number, { bytes, microbatch }: MemoryEstimate): void {
  if (bytes <= limitBytes) return;
  const { sequences_S, tokenIds_L } = microbatch;
  const longest = Math.max(...sequences_S.map(({ tokenIds }) => tokenIds.length));
  const [what, cure] =
    sequences_S.length === 1
      ? [`A sequence of ${longest} tokens`, "Leave such sequences out with training.sequenceLengthMax"]
      : [
          `${tokenIds_L.length} tokens at once, of sequences of up to ${longest},`,
          "Compute fewer at once with training.microbatchTokens",
        ];
  throw new ServiceError({
    code: "unsupported",
    message:
      `${what} would need about ${gigabytes(bytes)} GB to train, and training may have ${gigabytes(limitBytes)} GB. ` +
      `${cure}, or raise training.memoryBytes.`,
  });
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(bytes < 1e9 ? 2 : 1);
}

function elementCount(parameters: readonly { readonly shape: readonly number[] }[]): number {
  return sum(parameters.map(({ shape }) => shape.reduce((product, size) => product * size, 1)));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
