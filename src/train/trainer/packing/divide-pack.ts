// Packs in parts that are computed side by side, each by threads of its own: they wait for each other once a pack, where
// threads that share the operations of one program wait for the slowest at each of them.
import { costOf, ownLength, sizeOf, totalOf } from "./pack-size.ts";
import type { Pack } from "./packs.ts";
import type { PackedSequence, PrefixGroup } from "./prefix-groups.ts";

/** When parts are worth their while. */
export interface Division {
  /** Parts that are computed side by side; 1 divides nothing. */
  readonly count: number;
  /** Of a part. */
  readonly tokensMin: number;
  /** How many times its share the longest part may take: what threads lose that share operations. */
  readonly excessMax: number;
}

/**
 * Divides a pack into parts that take about as long. Groups are divided too where there are fewer of them than parts, and
 * each part then computes the prefix.
 *
 * @returns so many parts, or the pack itself where that would take longer
 */
export function dividePack<Sequence extends PackedSequence>(
  pack: Pack<Sequence>,
  { count, tokensMin, excessMax }: Division,
): readonly Pack<Sequence>[] {
  const { kind, groups } = pack;
  const whole = totalOf(groups);
  if (count === 1 || whole.tokenCount < count * tokensMin) return [pack];
  const parts =
    groups.length < count
      ? divideGroups(groups, count)
      : deal(groups, count, (group) => costOf(sizeOf(group)));
  const share = costOf(whole) / count;
  const isWorthIt = parts
    .map(totalOf)
    .every((size) => size.tokenCount >= tokensMin && costOf(size) <= excessMax * share);
  return parts.length === count && isWorthIt ? parts.map((part) => ({ kind, groups: part })) : [pack];
}

/** Some rows of every group to each part; none where a part would get a row alone, which has no prefix to share. */
function divideGroups<Sequence extends PackedSequence>(
  groups: readonly PrefixGroup<Sequence>[],
  count: number,
): readonly (readonly PrefixGroup<Sequence>[])[] {
  if (groups.some((group) => group.length < 2 * count)) return [];
  const divided = groups.map((group) => deal(group, count, ownLength));
  return Array.from({ length: count }, (_, part) => divided.map((parts) => parts[part]));
}

/** The costliest first, each to the part that has least; those of a part in the order given. */
function deal<Item>(
  items: readonly Item[],
  count: number,
  costOfItem: (item: Item) => number,
): readonly (readonly Item[])[] {
  const costs = items.map(costOfItem);
  const parts = Array.from({ length: count }, () => ({ places: [] as number[], cost: 0 }));
  for (const place of [...costs.keys()].sort((left, right) => costs[right] - costs[left])) {
    const part = parts.reduce((least, other) => (other.cost < least.cost ? other : least));
    part.places.push(place);
    part.cost += costs[place];
  }
  return parts.map(({ places }) => places.sort((left, right) => left - right).map((place) => items[place]));
}
