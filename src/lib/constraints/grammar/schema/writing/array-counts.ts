// How many items an array may still have: what its rules need to never begin an array that cannot be finished.
import type { Expression } from "../../../regex/expressions.ts";
import type { Goal } from "../goals.ts";

export interface ArrayPlan {
  readonly type: "array";
  readonly min: number;
  readonly max: number;
  /** The items at the front, each with a way of its own. */
  readonly items: readonly ItemPlan[];
  /** Every item behind them. */
  readonly rest: ItemPlan;
  readonly counters: readonly Counter[];
  /** The texts that items may have, each at most once; null where items may repeat, or are no scalars. */
  readonly distinct: DistinctItems | null;
  /** The pointer of the keyword that wants items to differ that may be arrays and objects; null where none does. */
  readonly comparedAt: string | null;
}

/** What an item may be: any of the ways. */
export type ItemPlan = readonly ItemWay[];

export interface ItemWay {
  readonly goal: Goal;
  /** The counters that count such an item, by their places. */
  readonly countedBy: readonly number[];
}

/** How many items one `contains` wants, and allows. */
export interface Counter {
  readonly min: number;
  readonly max: number;
}

export interface DistinctItems {
  /** One for each value. */
  readonly texts: Expression;
  /** Whether there are as many as the array must have items. */
  readonly areEnough: boolean;
}

/** How far an array is written. */
export interface ArrayProgress {
  readonly index: number;
  /** Of each counter. */
  readonly counts: readonly number[];
}

/** Whether no item may come again. */
export const isDistinct = ({ distinct, comparedAt }: ArrayPlan): boolean =>
  distinct !== null || comparedAt !== null;

export const itemAt = ({ items, rest }: ArrayPlan, index: number): ItemPlan => items[index] ?? rest;

/** Before the first item. */
export const startOfArray = ({ counters }: ArrayPlan): ArrayProgress => ({
  index: 0,
  counts: counters.map(() => 0),
});

export const behindItem = ({ index, counts }: ArrayProgress, { countedBy }: ItemWay): ArrayProgress => ({
  index: index + 1,
  counts: counts.map((count, counter) => (countedBy.includes(counter) ? count + 1 : count)),
});

/** Progress beyond which nothing changes is the same. */
export function bounded({ min, max, items, counters }: ArrayPlan, progress: ArrayProgress): ArrayProgress {
  const indexMax = max === Number.POSITIVE_INFINITY ? Math.max(items.length, min, 1) : max;
  const counts = progress.counts.map((count, at) => Math.min(count, countMax(counters[at])));
  return { index: Math.min(progress.index, indexMax), counts };
}

const countMax = ({ min, max }: Counter): number => (max === Number.POSITIVE_INFINITY ? min : max);

export function mayClose({ min, counters }: ArrayPlan, { index, counts }: ArrayProgress): boolean {
  return index >= min && counters.every((counter, at) => counts[at] >= counter.min);
}

/** Whether an array that has come so far can be completed. */
export function canFinishArray(
  plan: ArrayPlan,
  progress: ArrayProgress,
  isFruitful: (goal: Goal) => boolean,
): boolean {
  if (!isWithin(plan, progress)) return false;
  if (mayClose(plan, progress)) return true;
  if (plan.distinct !== null) return plan.distinct.areEnough && plan.max >= plan.min;
  let places: readonly ArrayProgress[] = [progress];
  for (let { index } = progress; index < plan.items.length; index++) {
    const ways = plan.items[index].filter(({ goal }) => isFruitful(goal));
    places = placesBehind(plan, places, ways);
    if (places.some((place) => mayClose(plan, place))) return true;
  }
  const ways = plan.rest.filter(({ goal }) => isFruitful(goal));
  return places.some((place) => canFinishRest(plan, place, ways));
}

function isWithin({ max, counters }: ArrayPlan, { index, counts }: ArrayProgress): boolean {
  return index <= max && counters.every((counter, at) => counts[at] <= counter.max);
}

/** Where one more item leads, each place once. */
function placesBehind(
  plan: ArrayPlan,
  places: readonly ArrayProgress[],
  ways: readonly ItemWay[],
): readonly ArrayProgress[] {
  const found = new Map<string, ArrayProgress>();
  for (const place of places) {
    for (const way of ways) {
      const { index, counts } = behindItem(place, way);
      if (!isWithin(plan, { index, counts })) continue;
      const after = { index, counts: bounded(plan, { index, counts }).counts };
      found.set(after.counts.join(","), after);
    }
  }
  return [...found.values()];
}

/** Whether items of the ways can complete an array that is behind its first items. */
function canFinishRest(plan: ArrayPlan, progress: ArrayProgress, ways: readonly ItemWay[]): boolean {
  // With an item that no counter limits, an array that is too short can be filled up.
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
    places = placesBehind(plan, places, ways);
    // Else each item is one more that a counter limits: they come to an end by themselves.
    if (isFillable) places = places.filter(({ counts }) => isNew(seen, counts.join(",")));
  }
  return false;
}

function isNew(seen: Set<string>, key: string): boolean {
  const sizeBefore = seen.size;
  return seen.add(key).size > sizeBefore;
}
