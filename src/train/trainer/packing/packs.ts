// What is computed at once: groups of rows, packed as a list of tokens without padding. Attention alone makes rows of the
// list, and pads them: groups lie together where that costs less than apart.
import { type PackSize, costOf, ownLength, sizeOf, sumOf } from "./pack-size.ts";
import { type PackedSequence, type PrefixGroup, type Row, prefixOf } from "./prefix-groups.ts";

/** `prefixed` where all groups have a prefix; else `rows` where all of some rows are equally long, or `list`. */
export const packKinds = ["rows", "list", "prefixed"] as const;

/** Groups that are computed at once. */
export interface Pack<Sequence extends PackedSequence> {
  readonly kind: (typeof packKinds)[number];
  readonly groups: readonly PrefixGroup<Sequence>[];
}

/**
 * Cuts groups into packs. Groups are cut too, where they have more tokens or rows of too different lengths; each part then
 * computes the prefix again.
 *
 * @param tokensMax the computed tokens of a pack stay within this unless one row alone exceeds it
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
  // One program for all of them, since each holds memory of its own.
  const kind = alone.every((pack) => isEven(pack)) ? "rows" : "list";
  return [
    ...prefixed.map((pack) => ({ kind: "prefixed", groups: pack }) as const),
    ...alone.map((pack) => ({ kind, groups: pack }) as const),
  ];
}

/**
 * Cuts a group into groups of at most so many computed tokens, or of one row; the rows keep their order.
 *
 * @param isJoined whether a row goes with those before it, where there is room
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
 * The group with its prefix led on into the longest row that goes on from its end, but for the last token, where that is
 * cheaper: attention then pads the other rows to less. No other token is computed.
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

/** Groups of like length together, the longest first; those of one length in the order given. */
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

/** Fewer rows are equally long by chance, and not worth a program. */
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
