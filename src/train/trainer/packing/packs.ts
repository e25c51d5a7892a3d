// Combines groups of rows into packs. The trainer computes a pack as one list of tokens without padding; only attention
// pads the list to rows of equal length. Groups share a pack if that costs less than separate packs.
import { type PackSize, costOf, ownLength, sizeOf, sumOf } from "./pack-size.ts";
import { type PackedSequence, type PrefixGroup, type Row, prefixOf } from "./prefix-groups.ts";

/**
 * Kinds of packs. In `prefixed`, every group has a prefix. In `rows` and `list`, no group has one; in `rows`, all rows
 * also have the same length.
 */
export const packKinds = ["rows", "list", "prefixed"] as const;

/** Groups of rows that the trainer computes together. */
export interface Pack<Sequence extends PackedSequence> {
  readonly kind: (typeof packKinds)[number];
  readonly groups: readonly PrefixGroup<Sequence>[];
}

/**
 * Distributes groups over packs. If a group has too many tokens, or rows of very different lengths, cuts it into
 * several groups, each of which computes the prefix again.
 *
 * @param tokensMax maximum number of computed tokens in a pack; only a single row may exceed it
 */
export function cutIntoPacks<Sequence extends PackedSequence>(
  groups: readonly PrefixGroup<Sequence>[],
  tokensMax: number,
): readonly Pack<Sequence>[] {
  const parts = groups.flatMap((group) =>
    cutEvenly([...withLongerPrefix(group)].sort(byOwnLength), tokensMax),
  );
  const prefixed = fill(
    parts.filter((part) => part.length > 1),
    tokensMax,
  );
  const alone = fill(
    parts.filter((part) => part.length === 1),
    tokensMax,
  );
  // Gives all packs without a prefix the same kind, so that they use the same program. Each additional program takes
  // memory of its own.
  const kind = alone.every((pack) => isEven(pack)) ? "rows" : "list";
  return [
    ...prefixed.map((pack) => ({ kind: "prefixed", groups: pack }) as const),
    ...alone.map((pack) => ({ kind, groups: pack }) as const),
  ];
}

/**
 * Cuts a group into as few parts as {@link cutGroup} does, with a similar number of tokens in each. A small last part
 * would take almost as long as a large one, and a single row would need a program of another kind.
 */
function cutEvenly<Sequence extends PackedSequence>(
  group: PrefixGroup<Sequence>,
  tokensMax: number,
): readonly PrefixGroup<Sequence>[] {
  let parts = cutGroup(group, tokensMax, isCheaperJoined);
  const { length: count } = parts;
  if (count === 1) return parts;
  // Finds the smallest limit that gives as many parts.
  let [tooSmall, limit] = [0, tokensMax];
  while (limit - tooSmall > 1) {
    const tried = Math.floor((tooSmall + limit) / 2);
    const cut = cutGroup(group, tried, isCheaperJoined);
    if (cut.length > count) tooSmall = tried;
    else [parts, limit] = [cut, tried];
  }
  return parts;
}

/**
 * Cuts a group into parts of at most `tokensMax` computed tokens, which only a single row may exceed. Rows keep their
 * order.
 *
 * @param isJoined decides whether a row that fits joins the rows before it
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
 * If that is cheaper, extends the group's prefix by all tokens of the longest row except the last. Attention then pads
 * the other rows less, and the number of computed tokens stays the same.
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

/**
 * Combines groups of similar length into packs, beginning with the longest. Groups of equal length keep their order.
 */
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
 * Minimum number of rows in a pack of kind `rows`. Fewer rows may have the same length by chance, which does not
 * justify loading an additional program.
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
