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
  /** How many items must count, and may; null where none is counted. */
  readonly counting: { readonly min: number; readonly max: number } | null;
  /** The texts that items may have, each at most once; null where items may repeat, or are no scalars. */
  readonly distinct: DistinctItems | null;
  /** The pointer of the keyword that wants items to differ that may be arrays and objects; null where none does. */
  readonly comparedAt: string | null;
}

/** What an item may be: any of the goals; the counted ones are those that `contains` asks for. */
export interface ItemPlan {
  readonly plain: readonly Goal[];
  readonly counted: readonly Goal[];
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
  readonly counted: number;
}

/** Whether no item may come again. */
export const isDistinct = ({ distinct, comparedAt }: ArrayPlan): boolean =>
  distinct !== null || comparedAt !== null;

export const itemAt = ({ items, rest }: ArrayPlan, index: number): ItemPlan => items[index] ?? rest;

export function mayClose({ min, counting }: ArrayPlan, { index, counted }: ArrayProgress): boolean {
  return index >= min && counted >= (counting?.min ?? 0);
}

/** Whether an array that has come so far can be completed. */
export function canFinishArray(
  plan: ArrayPlan,
  progress: ArrayProgress,
  isFruitful: (goal: Goal) => boolean,
): boolean {
  const { index, counted } = progress;
  const most = plan.counting?.max ?? Number.POSITIVE_INFINITY;
  if (index > plan.max || counted > most) return false;
  if (mayClose(plan, progress)) return true;
  if (plan.distinct !== null) return plan.distinct.areEnough && plan.max >= plan.min;
  const item = itemAt(plan, index);
  const mayBePlain = item.plain.some(isFruitful);
  const mayCount = item.counted.some(isFruitful);
  if (index < plan.items.length) {
    const next = (more: number) =>
      canFinishArray(plan, { index: index + 1, counted: counted + more }, isFruitful);
    return (mayBePlain && next(0)) || (mayCount && next(1));
  }
  const wanted = Math.max(0, (plan.counting?.min ?? 0) - counted);
  const needed = Math.max(wanted, plan.min - index);
  if (index + needed > plan.max || (wanted > 0 && !mayCount)) return false;
  return needed === wanted || mayBePlain || (mayCount && counted + needed <= most);
}
