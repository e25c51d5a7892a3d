// Groups sequences with common prefixes, so that the trainer computes shared tokens once. Each group has one prefix,
// from which its rows branch off. Answers to one prompt branch off at the prefix's end, turns of one trajectory at
// different positions.
import type { TrainingSequence } from "../trainer.ts";
import { type RowTree, coverRows } from "./prefix-cover.ts";

/** The properties of a sequence that determine the tokens to compute. */
export type PackedSequence = Pick<TrainingSequence, "tokenIds" | "mask">;

/** Tokens that the trainer computes consecutively, and the sequences whose log-probabilities follow from them. */
export interface Row<Sequence extends PackedSequence> {
  /** Tokens of the longest sequence, without the last ones, which predict no trained token. At least one token. */
  readonly inputIds: Int32Array;
  /**
   * Number of first tokens that the row shares with the group's prefix. It is less than the row's length, and 0 for a
   * row that shares nothing.
   */
  readonly prefixLength: number;
  /** The sequences of this row, in the given order. Each sequence's input tokens are a prefix of the row. */
  readonly sequences: readonly Sequence[];
}

/**
 * Either a single row without a prefix, or several rows. The longest of their prefixes is the group's prefix; each
 * other prefix is a beginning of it.
 */
export type PrefixGroup<Sequence extends PackedSequence> = readonly Row<Sequence>[];

/** Minimum share of its tokens that a group must save by sharing a prefix. Below it, separate rows are faster. */
const SAVED_SHARE_MIN = 0.1;

/**
 * Groups sequences by common prefixes. The same sequences in the same order always give the same groups.
 *
 * @param options.savedShareMin minimum share of a group's tokens that sharing the prefix must save
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

/** Puts each sequence into a row of its own, without shared prefixes. */
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

/** Returns the number of tokens that the trainer computes for a group. */
export function computedTokenCount(group: PrefixGroup<PackedSequence>): number {
  return group.reduce(
    (count, { inputIds, prefixLength }) => count + inputIds.length - prefixLength,
    prefixOf(group).length,
  );
}

/**
 * Turns sequences into rows, sorted so that rows with common prefixes are adjacent. If a sequence is a prefix of a
 * longer one, both are in the same row.
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
    // Continues collecting while each sequence is a prefix of the next one, because such sequences share a row.
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

/** Returns the tokens of a sequence up to the last one that predicts a trained token. */
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
 * Builds the prefix tree of sorted rows.
 *
 * @param shared for each row, the number of first tokens that it shares with the row before it; the first entry is
 * ignored
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
