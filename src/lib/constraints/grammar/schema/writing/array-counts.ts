// Counts the items of arrays, so that the rules never begin an array that cannot be completed.
import type { Expression } from "../../../regex/expressions.ts";
import type { Goal } from "../goals.ts";

export interface ArrayPlan {
  readonly type: "array";
  readonly min: number;
  readonly max: number;
  /** Plans of the first items, by index. */
  readonly items: readonly ItemPlan[];
  /** Plan of each item after those in `items`. */
  readonly rest: ItemPlan;
  readonly counters: readonly Counter[];
  /** Texts of items that must be unique; null if items may repeat, or may be arrays or objects. */
  readonly distinct: DistinctItems | null;
  /** Pointer of the keyword that requires unique items, if items may be arrays or objects; otherwise null. */
  readonly comparedAt: string | null;
}

/** The alternatives for writing one item. */
export type ItemPlan = readonly ItemWay[];

export interface ItemWay {
  readonly goal: Goal;
  /** Indexes of the counters (`contains` keywords) that count an item written in this way. */
  readonly countedBy: readonly number[];
}

/** Minimum and maximum of a `contains` keyword: the number of items that must match it. */
export interface Counter {
  readonly min: number;
  readonly max: number;
}

export interface DistinctItems {
  /** Texts of the items, with one text per value. */
  readonly texts: Expression;
  /** True if there are at least as many texts as the array needs items. */
  readonly areEnough: boolean;
}

/** Progress of writing an array. */
export interface ArrayProgress {
  readonly index: number;
  /** Number of items that each counter has counted. */
  readonly counts: readonly number[];
}

/** True if items must be unique. */
export const isDistinct = ({ distinct, comparedAt }: ArrayPlan): boolean =>
  distinct !== null || comparedAt !== null;

export const itemAt = ({ items, rest }: ArrayPlan, index: number): ItemPlan => items[index] ?? rest;

/** Returns the progress before the first item. */
export const startOfArray = ({ counters }: ArrayPlan): ArrayProgress => ({
  index: 0,
  counts: counters.map(() => 0),
});

export const afterItem = ({ index, counts }: ArrayProgress, { countedBy }: ItemWay): ArrayProgress => ({
  index: index + 1,
  counts: counts.map((count, counter) => (countedBy.includes(counter) ? count + 1 : count)),
});

/** Caps the index and the counts at the numbers above which they make no difference. */
export function bounded({ min, max, items, counters }: ArrayPlan, progress: ArrayProgress): ArrayProgress {
  const indexMax = max === Number.POSITIVE_INFINITY ? Math.max(items.length, min, 1) : max;
  const counts = progress.counts.map((count, at) => Math.min(count, countMax(counters[at])));
  return { index: Math.min(progress.index, indexMax), counts };
}

const countMax = ({ min, max }: Counter): number => (max === Number.POSITIVE_INFINITY ? min : max);

export function mayClose({ min, counters }: ArrayPlan, { index, counts }: ArrayProgress): boolean {
  return index >= min && counters.every((counter, at) => counts[at] >= counter.min);
}

/** True if an array with this progress can be completed. */
export function canFinishArray(
  plan: ArrayPlan,
  progress: ArrayProgress,
  isSatisfiable: (goal: Goal) => boolean,
): boolean {
  if (!isWithin(plan, progress)) return false;
  if (mayClose(plan, progress)) return true;
  if (plan.distinct !== null) return plan.distinct.areEnough && plan.max >= plan.min;
  let places: readonly ArrayProgress[] = [progress];
  for (let { index } = progress; index < plan.items.length; index++) {
    const ways = plan.items[index].filter(({ goal }) => isSatisfiable(goal));
    places = progressAfter(plan, places, ways);
    if (places.some((place) => mayClose(plan, place))) return true;
  }
  const ways = plan.rest.filter(({ goal }) => isSatisfiable(goal));
  return places.some((place) => canFinishRest(plan, place, ways));
}

function isWithin({ max, counters }: ArrayPlan, { index, counts }: ArrayProgress): boolean {
  return index <= max && counters.every((counter, at) => counts[at] <= counter.max);
}

/** Returns the different states of progress that one more item can lead to. */
function progressAfter(
  plan: ArrayPlan,
  places: readonly ArrayProgress[],
  ways: readonly ItemWay[],
): readonly ArrayProgress[] {
  const found = new Map<string, ArrayProgress>();
  for (const place of places) {
    for (const way of ways) {
      const { index, counts } = afterItem(place, way);
      if (!isWithin(plan, { index, counts })) continue;
      const after = { index, counts: bounded(plan, { index, counts }).counts };
      found.set(after.counts.join(","), after);
    }
  }
  return [...found.values()];
}

/** True if items of these alternatives can complete an array that is past its first items. */
function canFinishRest(plan: ArrayPlan, progress: ArrayProgress, ways: readonly ItemWay[]): boolean {
  // Items that no counter limits can fill an array up to its minimum.
  const isFillable = ways.some(({ countedBy }) =>
    countedBy.every((counter) => plan.counters[counter].max === Number.POSITIVE_INFINITY),
  );
  if (isFillable && Math.max(plan.min, progress.index) > plan.max) return false;
  const seen = new Set<string>();
  let places: readonly ArrayProgress[] = [progress];
  while (places.length > 0) {
    const isDone = (place: ArrayProgress): boolean =>
      mayClose(plan, isFillable ? { ...place, index: Math.max(place.index, plan.min) } : place);
    if (places.some(isDone)) return true;
    places = progressAfter(plan, places, ways);
    // If each item increases a limited counter, the loop ends without this filter.
    if (isFillable) places = places.filter(({ counts }) => isNew(seen, counts.join(",")));
  }
  return false;
}

function isNew(seen: Set<string>, key: string): boolean {
  const sizeBefore = seen.size;
  return seen.add(key).size > sizeBefore;
}
