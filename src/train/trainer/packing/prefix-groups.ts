// Groups sequences with common prefixes, so that shared tokens are computed once. A group has one prefix, and each of
// its rows branches off it: answers to one prompt at the end of the prefix, turns of one trajectory at different
// positions.
import type { TrainingSequence } from "../trainer.ts";
import { type RowTree, coverRows } from "./prefix-cover.ts";

/** The properties of a sequence that determine its row. */
export type PackedSequence = Pick<TrainingSequence, "tokenIds" | "mask">;

/** Tokens that are computed consecutively, and the sequences whose log-probabilities are read from them. */
export interface Row<Sequence extends PackedSequence> {
  /** Tokens of the longest of the sequences, without trailing tokens that predict no trained token; at least one. */
  readonly inputIds: Int32Array;
  /**
   * Number of leading tokens that the row shares with the group's prefix. It is less than the row's length, and 0 for
   * a row that shares nothing.
   */
  readonly prefixLength: number;
  /** The sequences, in the given order; each sequence's inputs are a prefix of the row. */
  readonly sequences: readonly Sequence[];
}

/**
 * One row without a prefix, or at least two rows. In the latter case, the prefix of each row is a prefix of the
 * longest one.
 */
export type PrefixGroup<Sequence extends PackedSequence> = readonly Row<Sequence>[];

/** Minimum share of a group's tokens that its prefix has to save. Below it, separate rows are faster. */
const SAVED_SHARE_MIN = 0.1;

/**
 * Groups sequences by common prefixes. The same sequences in the same order always give the same groups.
 *
 * @param options.savedShareMin minimum share of its tokens that a group has to save
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

/** Puts each sequence into a separate row. */
export function ungrouped<Sequence extends PackedSequence>(
  sequences: readonly Sequence[],
): readonly PrefixGroup<Sequence>[] {
  return sequences.map((sequence) => [
    { inputIds: inputIdsOf(sequence), prefixLength: 0, sequences: [sequence] },
  ]);
}

/** Returns the prefix that the rows of a group share; empty for a single row. */
export function prefixOf(group: PrefixGroup<PackedSequence>): Int32Array {
  const { inputIds, prefixLength } = group.reduce((longest, row) =>
    row.prefixLength > longest.prefixLength ? row : longest,
  );
  return inputIds.subarray(0, prefixLength);
}

/** Returns the number of tokens computed for a group. */
export function computedTokenCount(group: PrefixGroup<PackedSequence>): number {
  return group.reduce(
    (count, { inputIds, prefixLength }) => count + inputIds.length - prefixLength,
    prefixOf(group).length,
  );
}

/**
 * Returns the rows, sorted so that rows with common prefixes are adjacent. A sequence that is a prefix of a longer one
 * gets no row of its own.
 */
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
    // Each of the collected sequences is a prefix of the next one.
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

/** Returns the tokens up to the last one that predicts a trained token. */
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
 * Builds the tree of common prefixes.
 *
 * @param shared number of tokens that each row shares with the row before it; the first is ignored
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
