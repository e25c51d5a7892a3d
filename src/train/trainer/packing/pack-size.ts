// How large what is computed at once is, and the time that it takes: measured, roughly, in the time of one token's products.
import { type PackedSequence, type PrefixGroup, type Row, prefixOf } from "./prefix-groups.ts";

/** What attention's rows are like. */
export interface PackSize {
  /** Without padding. */
  readonly tokenCount: number;
  readonly prefixCount: number;
  readonly longestPrefix: number;
  readonly rowCount: number;
  /** After the prefix. */
  readonly longestRow: number;
}

/** Of a group that is computed by itself. */
export function sizeOf(group: PrefixGroup<PackedSequence>): PackSize {
  const isAlone = group.length === 1;
  const prefixLength = isAlone ? 0 : prefixOf(group).length;
  const own = group.map((row) => (isAlone ? row.inputIds.length : ownLength(row)));
  return {
    tokenCount: own.reduce((count, length) => count + length, prefixLength),
    prefixCount: isAlone ? 0 : 1,
    longestPrefix: prefixLength,
    rowCount: group.length,
    longestRow: Math.max(...own),
  };
}

/** Of what two sizes are of, computed at once. */
export function sumOf(one: PackSize, other: PackSize): PackSize {
  return {
    tokenCount: one.tokenCount + other.tokenCount,
    prefixCount: one.prefixCount + other.prefixCount,
    longestPrefix: Math.max(one.longestPrefix, other.longestPrefix),
    rowCount: one.rowCount + other.rowCount,
    longestRow: Math.max(one.longestRow, other.longestRow),
  };
}

/** Of groups that are computed at once; at least one. */
export function totalOf(groups: readonly PrefixGroup<PackedSequence>[]): PackSize {
  return groups.map(sizeOf).reduce(sumOf);
}

/** Pairs of tokens, padding included, that attention computes in the time of one token's products; measured, roughly. */
const PAIRS_PER_TOKEN = 400;

/** What a pack more costs, in tokens. */
const TOKENS_PER_PACK = 64;

/** The time that a pack takes, in tokens. */
export function costOf({ tokenCount, prefixCount, longestPrefix, rowCount, longestRow }: PackSize): number {
  const prefixPairs = (prefixCount * longestPrefix ** 2) / 2;
  const rowPairs = rowCount * longestRow * (longestPrefix + longestRow / 2);
  return TOKENS_PER_PACK + tokenCount + (prefixPairs + rowPairs) / PAIRS_PER_TOKEN;
}

/** The tokens of a row behind its prefix. */
export function ownLength({ inputIds, prefixLength }: Row<PackedSequence>): number {
  return inputIds.length - prefixLength;
}
