// Prepares an array's shape for rules: determines the items that count for `contains`, and the texts that must be
// unique.
import { unreachable } from "../../../../../base/domain/assert.ts";
import type { Expression } from "../../../regex/expressions.ts";
import { limitExceeded } from "../../../regex/limits.ts";
import type { ArrayPlan, DistinctItems, ItemPlan, ItemWay } from "./array-counts.ts";
import type { Goal } from "../goals.ts";
import { noValue } from "../goals.ts";
import { refused } from "../keywords/keyword.ts";
import type { Meanings } from "../meanings.ts";
import { itemGoal } from "../shapes.ts";
import type { ArrayShape, Contains, Shape } from "../shapes.ts";

export function planArray(meanings: Meanings, shape: ArrayShape): readonly ArrayPlan[] {
  const never = shape.contains.filter(({ max }) => max === 0);
  const counting = shape.contains.filter(({ max }) => max > 0);
  if (shape.contains.some(({ min, max }) => min > max)) return [];
  const front = Math.min(shape.prefix.length, shape.max);
  const item = (index: number) => planItem(meanings, itemGoal(shape, index), { never, counting });
  return [
    {
      type: "array",
      min: shape.min,
      max: shape.max,
      items: Array.from({ length: front }, (_, index) => item(index)),
      rest: item(shape.prefix.length),
      counters: counting,
      ...planUniqueness(meanings, shape),
    },
  ];
}

function planItem(
  { goals, compilation }: Meanings,
  goal: Goal,
  { never, counting }: { readonly never: readonly Contains[]; readonly counting: readonly Contains[] },
): ItemPlan {
  const { limits } = compilation;
  const without = (options: readonly Goal[], other: Goal): readonly Goal[] =>
    options.flatMap((option) => goals.not(other).map((missed) => goals.and(option, missed)));
  const open = never.reduce<readonly Goal[]>((options, { goal: other }) => without(options, other), [goal]);
  let ways: readonly ItemWay[] = open.map((option) => ({ goal: option, countedBy: [] }));
  for (const [counter, { goal: other, max }] of counting.entries()) {
    const counted = ways.map((way) => ({
      goal: goals.and(way.goal, other),
      countedBy: [...way.countedBy, counter],
    }));
    // Without a maximum, an item that satisfies the counter's goal need not be counted, because a count that is too low
    // does no harm.
    const others = ways.flatMap((way) =>
      max === Number.POSITIVE_INFINITY
        ? [way]
        : without([way.goal], other).map((left) => ({ ...way, goal: left })),
    );
    ways = differentWays([...counted, ...others]);
    if (ways.length > limits.alternatives) throw limitExceeded("alternatives", limits.alternatives);
  }
  return differentWays(ways);
}

function differentWays(ways: readonly ItemWay[]): readonly ItemWay[] {
  const possible = ways.filter(({ goal }) => goal !== noValue);
  return [...new Map(possible.map((way) => [`${way.goal} ${way.countedBy.join(",")}`, way])).values()];
}

/** Returns the method that keeps items unique: by a set of used texts, or by comparing items while they are written. */
function planUniqueness(meanings: Meanings, shape: ArrayShape): Pick<ArrayPlan, "distinct" | "comparedAt"> {
  const { uniqueAt: pointer } = shape;
  if (pointer === null || shape.max <= 1) return { distinct: null, comparedAt: null };
  if (shape.prefix.length > 0 || shape.contains.length > 0)
    throw refused(
      "uniqueItems",
      pointer,
      "cannot be combined with contains or with schemas for the first items",
    );
  const items = meanings.shapes(shape.rest);
  if (items.some(({ type }) => type === "array" || type === "object"))
    return { distinct: null, comparedAt: pointer };
  return { distinct: distinctScalars(meanings, shape, items), comparedAt: null };
}

/** Returns one text per value of the items, so that values differ if their texts do. */
function distinctScalars(meanings: Meanings, { min }: ArrayShape, items: readonly Shape[]): DistinctItems {
  const { texts, compilation } = meanings;
  const { automaton, expressions } = compilation;
  const written = items.flatMap((item): readonly Expression[] => {
    switch (item.type) {
      case "null":
        return [texts.literal("null")];
      case "boolean":
        return item.values.map((value) => texts.literal(String(value)));
      case "number":
      case "string":
        return [texts.distinct(item)];
      case "array":
      case "object":
        return [];
      default:
        return unreachable(item);
    }
  });
  const all = expressions.or(...written);
  return { texts: all, areEnough: automaton.hasTexts(automaton.start(all), min) };
}
