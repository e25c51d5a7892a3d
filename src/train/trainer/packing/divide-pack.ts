// Divides packs of sequences into parts, which separate threads compute in parallel. Such threads wait for each other
// once per pack. Threads that share one program would wait for each other at each operation.
import { costOf, ownLength, sizeOf, totalOf } from "./pack-size.ts";
import type { Pack } from "./packs.ts";
import type { PackedSequence, PrefixGroup } from "./prefix-groups.ts";

/** Conditions under which a pack is divided into parts. */
export interface Division {
  /** Number of parts to compute in parallel; with 1, packs are not divided. */
  readonly count: number;
  /** Minimum number of tokens in each part. */
  readonly tokensMin: number;
  /**
   * Maximum time of the slowest part, as a multiple of (time of the whole pack / number of parts). Above it, sharing
   * one program between the threads is faster.
   */
  readonly excessMax: number;
}

/**
 * Divides a pack into parts of similar cost. If the pack has fewer prefix groups than parts, divides each group among
 * all parts; each part then computes the group's prefix.
 *
 * @returns the parts, or the undivided pack if dividing would be slower
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

/**
 * Gives each part some rows of each prefix group. Returns an empty list if a part would get only one row of a group,
 * because a single row shares its prefix with no other.
 */
function divideGroups<Sequence extends PackedSequence>(
  groups: readonly PrefixGroup<Sequence>[],
  count: number,
): readonly (readonly PrefixGroup<Sequence>[])[] {
  if (groups.some((group) => group.length < 2 * count)) return [];
  const divided = groups.map((group) => deal(group, count, ownLength));
  return Array.from({ length: count }, (_, part) => divided.map((parts) => parts[part]));
}

/**
 * Distributes the items, the costliest first, each to the part with the least cost so far. The items of a part keep
 * their order.
 */
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
