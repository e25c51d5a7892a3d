// Which sequences begin alike, and so which tokens need to be computed only once. A group has one prefix, and each of its
// rows leaves it somewhere: the answers to one prompt all at its end, the turns of one trajectory each at its own place.
import type { TrainingSequence } from "../trainer.ts";
import { type RowTree, coverRows } from "./prefix-cover.ts";

/** What of a sequence decides where it lies. */
export type PackedSequence = Pick<TrainingSequence, "tokenIds" | "mask">;

/** Tokens that are computed one behind another, and the sequences whose log-probabilities are read off them. */
export interface Row<Sequence extends PackedSequence> {
  /** Of the longest of them, without the tokens that predict nothing; at least one. */
  readonly inputIds: Int32Array;
  /** How many of these are its group's prefix, less than all; 0 in a row that shares nothing. */
  readonly prefixLength: number;
  /** The inputs of each are a beginning of the row; in the order given. */
  readonly sequences: readonly Sequence[];
}

/** Rows whose prefixes are beginnings of the longest of these, at least two; or one row without. */
export type PrefixGroup<Sequence extends PackedSequence> = readonly Row<Sequence>[];

/** What begins alike by less is computed faster row by row. */
const SAVED_SHARE_MIN = 0.1;

/**
 * Groups sequences by what they begin with; the same sequences in the same order always give the same groups.
 *
 * @param options.savedShareMin the part of its tokens that a group has to save
 */
export function groupByPrefix<Sequence extends PackedSequence>(
  sequences: readonly Sequence[],
  { savedShareMin = SAVED_SHARE_MIN } = {},
): readonly PrefixGroup<Sequence>[] {
  const rows = toRows(sequences);
  if (rows.length === 0) return [];
  const shared = rows.map((row, index) =>
    index === 0 ? 0 : commonLength(rows[index - 1].inputIds, row.inputIds),
  );
  return coverRows(treeOf(rows, shared), savedShareMin).map((group) =>
    group.map(({ row, prefixLength }) => ({ ...row, prefixLength })),
  );
}

/** Every sequence in a row of its own. */
export function ungrouped<Sequence extends PackedSequence>(
  sequences: readonly Sequence[],
): readonly PrefixGroup<Sequence>[] {
  return sequences.map((sequence) => [
    { inputIds: inputIdsOf(sequence), prefixLength: 0, sequences: [sequence] },
  ]);
}

/** The tokens that all rows of a group may share; none where there is one row. */
export function prefixOf(group: PrefixGroup<PackedSequence>): Int32Array {
  const { inputIds, prefixLength } = group.reduce((longest, row) =>
    row.prefixLength > longest.prefixLength ? row : longest,
  );
  return inputIds.subarray(0, prefixLength);
}

/** The tokens that are computed for a group. */
export function computedTokenCount(group: PrefixGroup<PackedSequence>): number {
  return group.reduce(
    (count, { inputIds, prefixLength }) => count + inputIds.length - prefixLength,
    prefixOf(group).length,
  );
}

/** Rows in an order in which those that begin alike are neighbours; sequences that a longer one contains are in its row. */
function toRows<Sequence extends PackedSequence>(sequences: readonly Sequence[]): readonly Row<Sequence>[] {
  const sorted = sequences
    .map((sequence, order) => {
      const inputIds = inputIdsOf(sequence);
      const bytes = Buffer.from(inputIds.buffer, inputIds.byteOffset, inputIds.byteLength);
      return { sequence, order, inputIds, bytes };
    })
    .sort((left, right) => Buffer.compare(left.bytes, right.bytes) || left.order - right.order);
  const rows: Row<Sequence>[] = [];
  let waiting: (typeof sorted)[number][] = [];
  for (const [index, each] of sorted.entries()) {
    waiting.push(each);
    const next = sorted[index + 1]?.inputIds;
    // Each that waits is a beginning of the one after it.
    if (next !== undefined && commonLength(each.inputIds, next) === each.inputIds.length) continue;
    waiting.sort((left, right) => left.order - right.order);
    rows.push({
      inputIds: each.inputIds,
      prefixLength: 0,
      sequences: waiting.map(({ sequence }) => sequence),
    });
    waiting = [];
  }
  return rows;
}

/** The tokens that predict one that trains, and those before them. */
function inputIdsOf({ tokenIds, mask }: PackedSequence): Int32Array {
  return tokenIds.subarray(0, mask.lastIndexOf(1));
}

function commonLength(left: Int32Array, right: Int32Array): number {
  const end = Math.min(left.length, right.length);
  let length = 0;
  while (length < end && left[length] === right[length]) length += 1;
  return length;
}

/**
 * The tree of what rows begin with.
 *
 * @param shared how many tokens each row shares with the row before it; the first number says nothing
 */
function treeOf<Sequence extends PackedSequence>(
  rows: readonly Row<Sequence>[],
  shared: readonly number[],
): RowTree<Row<Sequence>> {
  const tokenCount = rows.reduce((count, { inputIds }) => count + inputIds.length, 0);
  if (rows.length === 1) return { row: rows[0], depth: tokenCount, tokenCount, children: [] };
  const depth = shared.reduce(
    (least, count, index) => (index === 0 ? least : Math.min(least, count)),
    Infinity,
  );
  const starts = shared.flatMap((count, index) => (index === 0 || count === depth ? [index] : []));
  const children = starts.map((start, child) => {
    const end = starts[child + 1] ?? rows.length;
    return treeOf(rows.slice(start, end), shared.slice(start, end));
  });
  return { row: null, depth, tokenCount, children };
}
