// An array's shape made ready for rules: which items count for `contains`, and which texts must differ.
import { unreachable } from "../../../domain/assert.ts";
import type { Expression } from "../../../regex/expressions.ts";
import type { ArrayPlan, DistinctItems, ItemPlan } from "./array-counts.ts";
import type { Goal } from "../goals.ts";
import { noValue } from "../goals.ts";
import { refused } from "../keywords/keyword.ts";
import type { Meanings } from "../meanings.ts";
import { itemGoal } from "../shapes.ts";
import type { ArrayShape, Contains, Shape } from "../shapes.ts";

export function planArray(meanings: Meanings, shape: ArrayShape): readonly ArrayPlan[] {
  const never = shape.contains.filter(({ max }) => max === 0);
  const counting = shape.contains.filter(({ max }) => max > 0);
  if (counting.length > 1)
    throw refused("contains", counting[1].pointer, "cannot be combined with another contains");
  const counted = counting.at(0) ?? null;
  if ((counted !== null && counted.min > counted.max) || never.some(({ min }) => min > 0)) return [];
  const front = Math.min(shape.prefix.length, shape.max);
  const item = (index: number) => planItem(meanings, itemGoal(shape, index), { never, counted });
  return [
    {
      type: "array",
      min: shape.min,
      max: shape.max,
      items: Array.from({ length: front }, (_, index) => item(index)),
      rest: item(shape.prefix.length),
      counting: counted,
      ...differing(meanings, shape),
    },
  ];
}

function planItem(
  { goals }: Meanings,
  goal: Goal,
  { never, counted }: { readonly never: readonly Contains[]; readonly counted: Contains | null },
): ItemPlan {
  const without = (options: readonly Goal[], other: Goal): readonly Goal[] =>
    options.flatMap((option) => goals.not(other).map((missed) => goals.and(option, missed)));
  const possible = (options: readonly Goal[]) => [...new Set(options)].filter((option) => option !== noValue);
  const open = never.reduce<readonly Goal[]>((options, { goal: other }) => without(options, other), [goal]);
  if (counted === null) return { plain: possible(open), counted: [] };
  return {
    plain: possible(counted.max === Number.POSITIVE_INFINITY ? open : without(open, counted.goal)),
    counted: possible(open.map((option) => goals.and(option, counted.goal))),
  };
}

/** How the array keeps its items from being equal. */
function differing(meanings: Meanings, shape: ArrayShape): Pick<ArrayPlan, "distinct" | "comparedAt"> {
  const { uniqueAt: pointer } = shape;
  if (pointer === null || shape.max <= 1) return { distinct: null, comparedAt: null };
  if (shape.prefix.length > 0 || shape.contains.length > 0)
    throw refused(
      "uniqueItems",
      pointer,
      "cannot be combined with contains or with first items of their own",
    );
  const items = meanings.shapes(shape.rest);
  if (items.some(({ type }) => type === "array" || type === "object"))
    return { distinct: null, comparedAt: pointer };
  return { distinct: distinctScalars(meanings, shape, items), comparedAt: null };
}

/** The items as texts, each value by one, so that values differ where their texts do. */
function distinctScalars(meanings: Meanings, { min }: ArrayShape, items: readonly Shape[]): DistinctItems {
  const { texts, workshop } = meanings;
  const { automaton, expressions } = workshop;
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
