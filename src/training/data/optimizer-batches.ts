// Which sequences share an optimizer step. Those of one trajectory group go together, since they are judged by each other
// and mostly begin alike, so that what they begin with is computed once. The same sequences, seed and algorithm always
// give the same batches.
import { type Random, seededRandom, shuffled } from "../../domain/random.ts";
import type { PackingAlgorithm } from "../packing/algorithm.ts";
import { cutGroup } from "../packing/packs.ts";
import { computedTokenCount, groupByPrefix } from "../packing/prefix-groups.ts";
import type { TrainingSequence } from "../trainer.ts";

/** The sequences of one optimizer step. */
export type OptimizerBatch = readonly TrainingSequence[];

export interface BatchOptions {
  /** A batch stays within this unless one sequence alone exceeds it. */
  readonly batchTokens: number;
  /** The job's, so that a repeated attempt takes the same steps. */
  readonly seed: string;
  readonly algorithm: PackingAlgorithm;
}

/** Cuts the job's sequences into the batches of its optimizer steps. */
export function cutIntoBatches(
  sequences: readonly TrainingSequence[],
  { batchTokens, seed, algorithm }: BatchOptions,
): readonly OptimizerBatch[] {
  const random = seededRandom("optimizer batches", seed);
  const cut = { "rows-1": cutByLength, "packed-2": cutByGroup }[algorithm];
  return shuffled(random, cut(sequences, batchTokens, random));
}

/** Sequences that stay together, and the tokens that are computed for them. */
interface Part {
  readonly sequences: readonly TrainingSequence[];
  readonly tokenCount: number;
}

/** Whole groups where they fit, each into the first batch that has room for it, the largest first. */
function cutByGroup(
  sequences: readonly TrainingSequence[],
  batchTokens: number,
  random: Random,
): readonly OptimizerBatch[] {
  const groups = new Map<number, TrainingSequence[]>();
  for (const sequence of sequences)
    groups.set(sequence.group, [...(groups.get(sequence.group) ?? []), sequence]);
  const parts = shuffled(random, [...groups.values()]).flatMap((group) =>
    partsOf(group, batchTokens, random),
  );
  const batches: { sequences: TrainingSequence[]; tokenCount: number }[] = [];
  for (const part of parts.sort((left, right) => right.tokenCount - left.tokenCount)) {
    const batch = batches.find(({ tokenCount }) => tokenCount + part.tokenCount <= batchTokens);
    if (batch === undefined) batches.push({ ...part, sequences: [...part.sequences] });
    else {
      batch.sequences.push(...part.sequences);
      batch.tokenCount += part.tokenCount;
    }
  }
  return batches.map((batch) => batch.sequences);
}

/** A group in one part, or, of more tokens than a batch may have, in parts of rows at random. */
function partsOf(group: readonly TrainingSequence[], batchTokens: number, random: Random): readonly Part[] {
  const packed = groupByPrefix(group);
  const tokenCount = packed.reduce((count, each) => count + computedTokenCount(each), 0);
  if (tokenCount <= batchTokens) return [{ sequences: group, tokenCount }];
  return packed
    .flatMap((rows) => cutGroup(shuffled(random, rows), batchTokens))
    .map((part) => ({
      sequences: part.flatMap((row) => row.sequences),
      tokenCount: computedTokenCount(part),
    }));
}

/** Sequences of like length together, whatever their group; every token of each counts. */
function cutByLength(
  sequences: readonly TrainingSequence[],
  batchTokens: number,
  random: Random,
): readonly OptimizerBatch[] {
  const sorted = shuffled(random, sequences).sort(
    (left, right) => right.tokenIds.length - left.tokenIds.length,
  );
  const batches: TrainingSequence[][] = [];
  let tokenCount = Infinity;
  for (const sequence of sorted) {
    const { length } = sequence.tokenIds;
    if (tokenCount + length > batchTokens) {
      batches.push([]);
      tokenCount = 0;
    }
    batches[batches.length - 1].push(sequence);
    tokenCount += length;
  }
  return batches;
}
