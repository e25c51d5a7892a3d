// What is computed at once: groups of rows, packed as a list of tokens without padding. Attention alone makes rows of the
// list, so those of a pack are of like length.
import { type PackedSequence, type PrefixGroup, type Row, computedTokenCount } from "./prefix-groups.ts";

/** Groups that are computed at once: all with a prefix, or all without. */
export interface Pack<Sequence extends PackedSequence> {
  readonly kind: "list" | "prefixed";
  readonly groups: readonly PrefixGroup<Sequence>[];
}

/**
 * Cuts groups into packs. A group of more tokens is cut, and its prefix computed again for each part.
 *
 * @param tokensMax the computed tokens of a pack stay within this unless one row alone exceeds it
 */
export function cutIntoPacks<Sequence extends PackedSequence>(
  groups: readonly PrefixGroup<Sequence>[],
  tokensMax: number,
): readonly Pack<Sequence>[] {
  const parts = groups.flatMap(({ prefixLength, rows }) =>
    cutGroup({ prefixLength, rows: [...rows].sort(byLength) }, tokensMax),
  );
  const withPrefix = parts.filter(({ prefixLength }) => prefixLength > 0);
  const without = parts.filter(({ prefixLength }) => prefixLength === 0);
  return [
    ...fill(withPrefix, tokensMax).map((filled) => ({ kind: "prefixed", groups: filled }) as const),
    ...fill(without, tokensMax).map((filled) => ({ kind: "list", groups: filled }) as const),
  ];
}

/** Cuts a group into groups of at most so many computed tokens, or of one row; the rows keep their order. */
export function cutGroup<Sequence extends PackedSequence>(
  { prefixLength, rows }: PrefixGroup<Sequence>,
  tokensMax: number,
): readonly PrefixGroup<Sequence>[] {
  const parts: Row<Sequence>[][] = [];
  let tokenCount = Infinity;
  for (const row of rows) {
    const ownCount = row.inputIds.length - prefixLength;
    if (tokenCount + ownCount > tokensMax) {
      parts.push([]);
      tokenCount = prefixLength;
    }
    parts[parts.length - 1].push(row);
    tokenCount += ownCount;
  }
  return parts.map((part) => ({ prefixLength: part.length === 1 ? 0 : prefixLength, rows: part }));
}

/** Groups of like length together, the longest first; those of one length in the order given. */
function fill<Sequence extends PackedSequence>(
  groups: readonly PrefixGroup<Sequence>[],
  tokensMax: number,
): readonly (readonly PrefixGroup<Sequence>[])[] {
  const sorted = [...groups].sort((left, right) => byLength(longestOf(left), longestOf(right)));
  const packs: PrefixGroup<Sequence>[][] = [];
  let size = emptySize;
  for (const group of sorted) {
    const grown = grownBy(size, group);
    if (packs.length === 0 || !fits(grown, tokensMax)) {
      packs.push([]);
      size = grownBy(emptySize, group);
    } else size = grown;
    packs[packs.length - 1].push(group);
  }
  return packs;
}

/** What the rows of attention are like that a pack is made into. */
interface PackSize {
  /** Without padding. */
  readonly tokenCount: number;
  readonly groupCount: number;
  readonly longestPrefix: number;
  readonly rowCount: number;
  /** After the prefix. */
  readonly longestRow: number;
}

const emptySize: PackSize = { tokenCount: 0, groupCount: 0, longestPrefix: 0, rowCount: 0, longestRow: 0 };

function grownBy(size: PackSize, group: PrefixGroup<PackedSequence>): PackSize {
  const { prefixLength, rows } = group;
  return {
    tokenCount: size.tokenCount + computedTokenCount(group),
    groupCount: size.groupCount + 1,
    longestPrefix: Math.max(size.longestPrefix, prefixLength),
    rowCount: size.rowCount + rows.length,
    longestRow: Math.max(size.longestRow, longestOf(group).inputIds.length - prefixLength),
  };
}

/** How much attention may be padded: a part of the tokens, and what costs less than a pack more. */
const PADDED_SHARE_MAX = 0.25;
const PADDED_COUNT_MIN = 256;

function fits(size: PackSize, tokensMax: number): boolean {
  const { tokenCount, groupCount, longestPrefix, rowCount, longestRow } = size;
  const paddingCount = groupCount * longestPrefix + rowCount * longestRow - tokenCount;
  return tokenCount <= tokensMax && paddingCount <= Math.max(PADDED_COUNT_MIN, PADDED_SHARE_MAX * tokenCount);
}

function longestOf<Sequence extends PackedSequence>({ rows }: PrefixGroup<Sequence>): Row<Sequence> {
  return rows.reduce((longest, row) => (row.inputIds.length > longest.inputIds.length ? row : longest));
}

function byLength(left: Row<PackedSequence>, right: Row<PackedSequence>): number {
  return right.inputIds.length - left.inputIds.length;
}
