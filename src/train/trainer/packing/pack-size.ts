// Computes sizes and costs of packs. A cost is a rough estimate of time, in units of one token's matrix products.
import { type PackedSequence, type PrefixGroup, type Row, prefixOf } from "./prefix-groups.ts";

/** The numbers that determine the cost of a pack. */
export interface PackSize {
  /** Number of computed tokens, without padding. */
  readonly tokenCount: number;
  readonly prefixCount: number;
  readonly longestPrefix: number;
  readonly rowCount: number;
  /** Length of the longest row in tokens, without its prefix. */
  readonly longestRow: number;
}

/** Returns the size of a pack with a single prefix group. */
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

/** Returns the size of one pack that contains the rows of both packs. */
export function sumOf(one: PackSize, other: PackSize): PackSize {
  return {
    tokenCount: one.tokenCount + other.tokenCount,
    prefixCount: one.prefixCount + other.prefixCount,
    longestPrefix: Math.max(one.longestPrefix, other.longestPrefix),
    rowCount: one.rowCount + other.rowCount,
    longestRow: Math.max(one.longestRow, other.longestRow),
  };
}

/** Returns the size of a pack with these prefix groups; requires at least one group. */
export function totalOf(groups: readonly PrefixGroup<PackedSequence>[]): PackSize {
  return groups.map(sizeOf).reduce(sumOf);
}

/**
 * Number of token pairs, including padding, that attention computes in the time of one token's matrix products. Roughly
 * measured.
 */
const PAIRS_PER_TOKEN = 400;

/** Fixed cost of each pack, in units of one token's matrix products. */
const TOKENS_PER_PACK = 64;

/** Estimates the time to compute a pack, in units of one token's matrix products. */
export function costOf({ tokenCount, prefixCount, longestPrefix, rowCount, longestRow }: PackSize): number {
  const prefixPairs = (prefixCount * longestPrefix ** 2) / 2;
  const rowPairs = rowCount * longestRow * (longestPrefix + longestRow / 2);
  return TOKENS_PER_PACK + tokenCount + (prefixPairs + rowPairs) / PAIRS_PER_TOKEN;
}

/** Returns the number of a row's tokens that follow its prefix. */
export function ownLength({ inputIds, prefixLength }: Row<PackedSequence>): number {
  return inputIds.length - prefixLength;
}
