// Which sequences begin alike, and so which tokens need to be computed only once. Sequences share one prefix at most: of
// all ways to group them so, the one that computes the fewest tokens. Trees of prefixes would save little more.
import type { TrainingSequence } from "../trainer.ts";

/** What of a sequence decides where it lies. */
export type PackedSequence = Pick<TrainingSequence, "tokenIds" | "mask">;

/** Tokens that are computed one behind another, and the sequences whose log-probabilities are read off them. */
export interface Row<Sequence extends PackedSequence> {
  /** Of the longest of them, without the tokens that predict nothing; at least one. */
  readonly inputIds: Int32Array;
  /** The inputs of each are a beginning of the row; in the order given. */
  readonly sequences: readonly Sequence[];
}

/** Rows that begin with the same tokens. */
export interface PrefixGroup<Sequence extends PackedSequence> {
  /** 0 for one row alone; else less than the length of each row. */
  readonly prefixLength: number;
  readonly rows: readonly Row<Sequence>[];
}

/**
 * The part of a row's tokens that a group has to save before it is one: what begins alike by a token or two is computed
 * faster row by row.
 */
const SAVED_SHARE_MIN = 0.1;

/** Groups sequences by what they begin with; the same sequences in the same order always give the same groups. */
export function groupByPrefix<Sequence extends PackedSequence>(
  sequences: readonly Sequence[],
): readonly PrefixGroup<Sequence>[] {
  const rows = toRows(sequences);
  const shared = rows.map((row, index) =>
    index === 0 ? 0 : commonLength(rows[index - 1].inputIds, row.inputIds),
  );
  return bestGroups(rows, shared).groups;
}

/** Every sequence in a row of its own. */
export function ungrouped<Sequence extends PackedSequence>(
  sequences: readonly Sequence[],
): readonly PrefixGroup<Sequence>[] {
  return sequences.map((sequence) => ({
    prefixLength: 0,
    rows: [{ inputIds: inputIdsOf(sequence), sequences: [sequence] }],
  }));
}

/** The tokens that are computed for a group. */
export function computedTokenCount({ prefixLength, rows }: PrefixGroup<PackedSequence>): number {
  return rows.reduce((count, { inputIds }) => count + inputIds.length - prefixLength, prefixLength);
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
    rows.push({ inputIds: each.inputIds, sequences: waiting.map(({ sequence }) => sequence) });
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

interface Grouping<Sequence extends PackedSequence> {
  /** The tokens that are not computed again. */
  readonly savedCount: number;
  readonly groups: readonly PrefixGroup<Sequence>[];
}

/**
 * One group of all rows, or the best groups of those that share more among themselves.
 *
 * @param shared how many tokens each row shares with the row before it; the first number says nothing
 */
function bestGroups<Sequence extends PackedSequence>(
  rows: readonly Row<Sequence>[],
  shared: readonly number[],
): Grouping<Sequence> {
  if (rows.length <= 1)
    return { savedCount: 0, groups: rows.map((row) => ({ prefixLength: 0, rows: [row] })) };
  const prefixLength = shared.reduce(
    (least, count, index) => (index === 0 ? least : Math.min(least, count)),
    Infinity,
  );
  const starts = shared.flatMap((count, index) => (index === 0 || count === prefixLength ? [index] : []));
  const parts = starts.map((start, part) => {
    const end = starts[part + 1] ?? rows.length;
    return bestGroups(rows.slice(start, end), shared.slice(start, end));
  });
  const savedApart = parts.reduce((count, part) => count + part.savedCount, 0);
  const savedTogether = (rows.length - 1) * prefixLength;
  const tokenCount = rows.reduce((count, { inputIds }) => count + inputIds.length, 0);
  return savedTogether >= savedApart && savedTogether >= SAVED_SHARE_MIN * tokenCount
    ? { savedCount: savedTogether, groups: [{ prefixLength, rows }] }
    : { savedCount: savedApart, groups: parts.flatMap(({ groups }) => groups) };
}
