// Packs groups of rows, so that they are computed together as one list of tokens without padding. Only attention pads
// the list to rows of equal length. Groups therefore share a pack if that costs less than separate packs.
import { type PackSize, costOf, ownLength, sizeOf, sumOf } from "./pack-size.ts";
import { type PackedSequence, type PrefixGroup, type Row, prefixOf } from "./prefix-groups.ts";

/**
 * Kinds of packs. In `prefixed`, all groups have a prefix. In the others none has; in `rows`, all rows have the same
 * length, and in `list` they need not.
 */
export const packKinds = ["rows", "list", "prefixed"] as const;

/** Groups computed together. */
export interface Pack<Sequence extends PackedSequence> {
  readonly kind: (typeof packKinds)[number];
  readonly groups: readonly PrefixGroup<Sequence>[];
}

/**
 * Cuts groups into packs. A group is cut too if it has too many tokens, or rows of very different lengths; each part
 * of it then computes the prefix again.
 *
 * @param tokensMax maximum number of computed tokens of a pack; only a single row may exceed it
 */
export function cutIntoPacks<Sequence extends PackedSequence>(
  groups: readonly PrefixGroup<Sequence>[],
  tokensMax: number,
): readonly Pack<Sequence>[] {
  const parts = groups.flatMap((group) =>
    cutGroup([...withLongerPrefix(group)].sort(byOwnLength), tokensMax, isCheaperJoined),
  );
  const prefixed = fill(
    parts.filter((part) => part.length > 1),
    tokensMax,
  );
  const alone = fill(
    parts.filter((part) => part.length === 1),
    tokensMax,
  );
  // All packs without a prefix have the same kind, and therefore use the same program, because each program holds
  // separate memory.
  const kind = alone.every((pack) => isEven(pack)) ? "rows" : "list";
  return [
    ...prefixed.map((pack) => ({ kind: "prefixed", groups: pack }) as const),
    ...alone.map((pack) => ({ kind, groups: pack }) as const),
  ];
}

/**
 * Cuts a group into parts of at most `tokensMax` computed tokens. A single row may exceed this. Rows keep their order.
 *
 * @param isJoined decides if a row joins the rows before it, if there is room for it
 */
export function cutGroup<Sequence extends PackedSequence>(
  group: PrefixGroup<Sequence>,
  tokensMax: number,
  isJoined: (part: PackSize, withRow: PackSize, row: PackSize) => boolean = () => true,
): readonly PrefixGroup<Sequence>[] {
  const parts: Row<Sequence>[][] = [];
  for (const row of group) {
    const part = parts.at(-1);
    const joined = part && sizeOf([...part, row]);
    const hasRoom = part && joined && joined.tokenCount <= tokensMax;
    if (hasRoom && isJoined(sizeOf(part), joined, sizeOf([row]))) part.push(row);
    else parts.push([row]);
  }
  return parts.map((part) => (part.length === 1 ? [{ ...part[0], prefixLength: 0 }] : part));
}

/**
 * Makes the longest row's tokens, except the last, part of the group's prefix if that is cheaper. Attention then pads
 * the other rows less, and no additional token is computed.
 */
function withLongerPrefix<Sequence extends PackedSequence>(
  group: PrefixGroup<Sequence>,
): PrefixGroup<Sequence> {
  if (group.length === 1) return group;
  const { length } = prefixOf(group);
  const [longest] = group.filter(({ prefixLength }) => prefixLength === length).sort(byOwnLength);
  const longer = group.map((row) =>
    row === longest ? { ...row, prefixLength: row.inputIds.length - 1 } : row,
  );
  return costOf(sizeOf(longer)) < costOf(sizeOf(group)) ? longer : group;
}

/** Packs groups of similar length together, the longest first. Groups of equal length keep their order. */
function fill<Sequence extends PackedSequence>(
  groups: readonly PrefixGroup<Sequence>[],
  tokensMax: number,
): readonly (readonly PrefixGroup<Sequence>[])[] {
  const sized = groups.map((group) => ({ group, size: sizeOf(group) }));
  sized.sort((left, right) => rowLength(right.size) - rowLength(left.size));
  const packs: { groups: PrefixGroup<Sequence>[]; size: PackSize }[] = [];
  for (const { group, size } of sized) {
    const pack = packs.at(-1);
    const together = pack && sumOf(pack.size, size);
    if (pack && together && together.tokenCount <= tokensMax && isCheaperJoined(pack.size, together, size)) {
      pack.groups.push(group);
      pack.size = together;
    } else packs.push({ groups: [group], size });
  }
  return packs.map((pack) => pack.groups);
}

function isCheaperJoined(one: PackSize, together: PackSize, other: PackSize): boolean {
  return costOf(together) <= costOf(one) + costOf(other);
}

/**
 * Minimum number of rows in a pack of kind `rows`. Fewer rows may have equal lengths by chance, and do not justify
 * loading another program.
 */
const EVEN_ROWS_MIN = 4;

function isEven(groups: readonly PrefixGroup<PackedSequence>[]): boolean {
  const [[first]] = groups;
  return (
    groups.length >= EVEN_ROWS_MIN && groups.every(([row]) => row.inputIds.length === first.inputIds.length)
  );
}

function rowLength({ longestPrefix, longestRow }: PackSize): number {
  return longestPrefix + longestRow;
}

function byOwnLength(left: Row<PackedSequence>, right: Row<PackedSequence>): number {
  return ownLength(right) - ownLength(left);
}
