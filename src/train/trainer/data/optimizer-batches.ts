// Plans optimizer steps: the sequences that each step trains on, and the order of steps in each pass over the data.
// Keeps the sequences of a group in one step if possible, so that their common prefix is computed once. The same
// sequences and seed always give the same batches.
import { type Random, seededRandom, shuffled } from "../../../base/domain/random.ts";
import { cutGroup } from "../packing/packs.ts";
import { type PackedSequence, computedTokenCount, groupByPrefix } from "../packing/prefix-groups.ts";
import type { TrainingSequence } from "../trainer.ts";
import type { StoredSequence, TokenFile } from "../prepared/token-file.ts";

/**
 * A sequence in the plan of a job: its weight, length and location. Its tokens stay on disk until a trainer needs them.
 */
export interface PlannedSequence
  extends StoredSequence, Pick<TrainingSequence, "advantage" | "weight" | "group" | "preference"> {}

/** The planned sequences of one optimizer step. */
export type PlannedBatch = readonly PlannedSequence[];

/** Reads the tokens of a batch from disk. */
export function readBatch(file: Pick<TokenFile, "read">, batch: PlannedBatch): readonly TrainingSequence[] {
  return batch.map((sequence) => {
    const { advantage, weight, group, preference } = sequence;
    return { ...file.read(sequence), advantage, weight, group, ...(preference && { preference }) };
  });
}

/** The sequences of one optimizer step, with their tokens in memory. */
export type OptimizerBatch = readonly TrainingSequence[];

/** The properties of a sequence that, together with its tokens, determine its batch. */
type Sized = Pick<PlannedSequence, "tokenCount" | "group">;

/** Size of an optimizer step, in one of three measures. */
export type StepSize =
  /** Number of sequences per step; the last step of a pass over the data may have fewer. */
  | { readonly sequences: number }
  /** Number of steps into which each pass over the data is divided evenly. Each step has at least one sequence. */
  | { readonly steps: number }
  /**
   * Maximum number of tokens per step; a prefix that several sequences share counts once. A longer sequence gets a step
   * of its own.
   */
  | { readonly tokens: number };

export interface BatchOptions<Sequence> {
  readonly size: StepSize;
  /** Number of passes over the data. Each pass trains on every sequence once. */
  readonly passCount: number;
  /** The job's seed. It makes a repeated attempt at the job take the same steps. */
  readonly seed: string;
  /** Reads the tokens of a sequence. The caller keeps them only briefly. */
  readonly tokensOf: (sequence: Sequence) => PackedSequence;
}

/** Divides a job's sequences into the batches of its optimizer steps. */
export function cutIntoBatches<Sequence extends Sized>(
  sequences: readonly Sequence[],
  { size, passCount, seed, tokensOf }: BatchOptions<Sequence>,
): readonly (readonly Sequence[])[] {
  const random = seededRandom("optimizer batches", seed);
  const cutPass = (): readonly (readonly Sequence[])[] =>
    "tokens" in size
      ? cutByGroup(sequences, size.tokens, { random, tokensOf })
      : cutByCount(sequences, size, random);
  return Array.from({ length: passCount }, () => shuffled(random, cutPass())).flat();
}

/** Puts the sequences into a random order in which groups stay together, and divides it into consecutive batches. */
function cutByCount<Sequence extends Sized>(
  sequences: readonly Sequence[],
  size: { readonly sequences: number } | { readonly steps: number },
  random: Random,
): readonly (readonly Sequence[])[] {
  const { length } = sequences;
  if (length === 0) return [];
  const order = [...byGroup(shuffled(random, sequences)).values()].flat();
  if ("sequences" in size)
    return Array.from({ length: Math.ceil(length / size.sequences) }, (_, index) =>
      order.slice(index * size.sequences, (index + 1) * size.sequences),
    );
  const steps = Math.min(size.steps, length);
  const startOf = (index: number): number => Math.floor((index * length) / steps);
  return Array.from({ length: steps }, (_, index) => order.slice(startOf(index), startOf(index + 1)));
}

/** Groups the sequences, in the order in which their groups first appear. */
function byGroup<Sequence extends Sized>(
  sequences: readonly Sequence[],
): ReadonlyMap<number, readonly Sequence[]> {
  const groups = new Map<number, Sequence[]>();
  for (const sequence of sequences) {
    const group = groups.get(sequence.group);
    if (group === undefined) groups.set(sequence.group, [sequence]);
    else group.push(sequence);
  }
  return groups;
}

/** Sequences that stay in one batch, and the number of tokens that the trainer computes for them. */
interface Part<Sequence> {
  readonly sequences: readonly Sequence[];
  readonly tokenCount: number;
}

/**
 * Divides the sequences into parts that stay together, one per group if the group fits into a batch. Puts the parts,
 * the largest first, into the first batch with enough room.
 */
function cutByGroup<Sequence extends Sized>(
  sequences: readonly Sequence[],
  batchTokens: number,
  context: Pick<BatchOptions<Sequence>, "tokensOf"> & { readonly random: Random },
): readonly (readonly Sequence[])[] {
  const parts = shuffled(context.random, [...byGroup(sequences).values()]).flatMap((group) =>
    partsOf(group, batchTokens, context),
  );
  const batches: { sequences: Sequence[]; tokenCount: number }[] = [];
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

/**
 * Returns a group as one part if it fits into a batch. Otherwise, distributes its sequences at random over several
 * parts.
 */
function partsOf<Sequence extends Sized>(
  group: readonly Sequence[],
  batchTokens: number,
  { random, tokensOf }: Parameters<typeof cutByGroup<Sequence>>[2],
): readonly Part<Sequence>[] {
  const packed = groupByPrefix(group.map((sequence) => ({ ...tokensOf(sequence), sequence })));
  const tokenCount = packed.reduce((count, each) => count + computedTokenCount(each), 0);
  if (tokenCount <= batchTokens) return [{ sequences: group, tokenCount }];
  return packed
    .flatMap((rows) => cutGroup(shuffled(random, rows), batchTokens))
    .map((part) => ({
      sequences: part.flatMap((row) => row.sequences.map(({ sequence }) => sequence)),
      tokenCount: computedTokenCount(part),
    }));
}
