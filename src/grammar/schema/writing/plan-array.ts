// An array's shape made ready for rules: which items count for `contains`, and which texts must differ.
import { quoted } from "../../../domain/service-error.ts";
import type { Expression } from "../../../regex/expressions.ts";
import type { ArrayPlan, ItemPlan } from "./array-counts.ts";
import type { Goal } from "../goals.ts";
import { noValue } from "../goals.ts";
import { refused } from "../keywords/keyword.ts";
import type { Meanings } from "../meanings.ts";
import { itemGoal } from "../shapes.ts";
import type { ArrayShape, Contains } from "../shapes.ts";

/** Arrays whose items must differ are served up to this many different items. */
const differentMax = 64;

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
      different:
        shape.uniqueAt === null || shape.max <= 1 ? null : differentItems(meanings, shape, shape.uniqueAt),
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

/** The texts of all items that there can be, where they are few. */
function differentItems(meanings: Meanings, shape: ArrayShape, pointer: string): readonly Expression[] {
  if (shape.prefix.length > 0 || shape.contains.length > 0)
    throw refused(
      "uniqueItems",
      pointer,
      "cannot be combined with contains or with first items of their own",
    );
  const { texts } = meanings;
  const values = meanings.shapes(shape.rest).flatMap((item): readonly string[] => {
    if (item.type === "null") return ["null"];
    if (item.type === "boolean") return item.values.map(String);
    if (item.type === "number" && item.values !== null) return item.values;
    if (item.type === "string" && item.values !== null)
      return item.values.map((value) => JSON.stringify(value));
    throw refused("uniqueItems", pointer, "is supported where items are an enumeration only");
  });
  const different = [...new Set(values)];
  if (different.length > differentMax) {
    const why = `has ${different.length} different items, such as ${quoted(different[0])}; at most ${differentMax} are supported`;
    throw refused("uniqueItems", pointer, why);
  }
  return different.map((value) => texts.literal(value));
}
