// Checks that the grammar can enforce `uniqueItems`. The scalars in such an array must belong to a set of at most 1,000
// values, which become separate alternatives in the grammar, or to a set larger than any array. This module refuses a
// set with a size between these two bounds.
import type { Expression } from "../../../regex/expressions.ts";
import { unreachable } from "../../../../../base/domain/assert.ts";
import type { Goal } from "../goals.ts";
import { refused } from "../keywords/keyword.ts";
import type { Meanings } from "../meanings.ts";
import type { NumberShape } from "../shapes.ts";
import type { Texts } from "../texts.ts";
import { itemAt } from "./array-counts.ts";
import type { ArrayPlan } from "./array-counts.ts";
import type { Plan, Plans } from "./plans.ts";

/** Scalar values that a goal allows. Each value has exactly one text. */
export interface Scalars {
  readonly listed: readonly string[];
  /** Expression that matches the texts of all scalar values that are not in `listed`; null if there are none. */
  readonly others: Expression | null;
}

/** Maximum number of values in `Scalars.listed`. */
const listedMax = 1000;
/**
 * Minimum number of parser rules per array item. Together with the limit on parser states, it limits the number of
 * items.
 */
const rulesPerItem = 6;

export function scalarsOf(meanings: Meanings, goal: Goal): Scalars {
  const { texts, compilation } = meanings;
  const listed: string[] = [];
  const others: Expression[] = [];
  for (const shape of meanings.shapes(goal)) {
    switch (shape.type) {
      case "null":
        listed.push("null");
        break;
      case "boolean":
        listed.push(...shape.values.map(String));
        break;
      case "number": {
        const values = shape.values ?? wholeNumbers(texts, shape);
        if (values === null) others.push(texts.distinct(shape));
        else listed.push(...values);
        break;
      }
      case "string":
        if (shape.values === null) others.push(texts.distinct(shape));
        else listed.push(...shape.values.map((value) => JSON.stringify(value)));
        break;
      case "array":
      case "object":
        break;
      default:
        unreachable(shape);
    }
  }
  const all = compilation.expressions.or(...others);
  return { listed, others: compilation.automaton.isEmpty(all) ? null : all };
}

/** Returns the integers that the shape allows; null if there are too many, or if the shape allows other numbers. */
function wholeNumbers(texts: Texts, shape: NumberShape): readonly string[] | null {
  const [first, last] = [Math.ceil(shape.span.least), Math.floor(shape.span.greatest)];
  if (!shape.isInteger || !Number.isSafeInteger(first) || !Number.isSafeInteger(last)) return null;
  if (last - first >= listedMax) return null;
  const all = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => String(first + index));
  texts.compilation.budget.spend(all.length);
  return all.filter((number) => texts.holdsNumber(shape, number));
}

/**
 * Checks all arrays with `uniqueItems`.
 *
 * @throws ConstraintRefusal if the grammar cannot compare the items of such an array
 */
export function checkComparable(plans: Plans): void {
  for (const plan of plans.all)
    if (plan.type === "array" && plan.comparedAt !== null) checkItems(plans, plan, plan.comparedAt);
}

function checkItems(plans: Plans, plan: ArrayPlan, pointer: string): void {
  const { limits } = plans.meanings.compilation;
  const many = Math.floor(limits.states / rulesPerItem);
  const items = plan.rest.map(({ goal }) => goal);
  const seen = new Set<Goal>(items);
  for (const goal of seen) {
    plans.meanings.compilation.budget.spend(1);
    const { listed, others } = scalarsOf(plans.meanings, goal);
    const names = plans.plans(goal).flatMap((inner) => namesOf(plans.meanings, inner));
    const sets = others === null ? names : [...names, others];
    if (listed.length > listedMax || !sets.every((texts) => hasTexts(plans.meanings, texts, many)))
      throw refused(
        "uniqueItems",
        pointer,
        "requires that the texts, numbers and names in arrays and objects are either listed or too many to run out; some here are neither",
      );
    for (const inner of plans.goalsWithin(goal)) seen.add(inner);
  }
  if (plan.min > 1 && !items.some((goal) => hasValues(plans, goal, plan.min)))
    throw refused("uniqueItems", pointer, "requires more unique items than are known to exist");
}

function namesOf({ texts }: Meanings, plan: Plan): readonly Expression[] {
  if (plan.type !== "object") return [];
  return [...plan.rules, ...plan.wanted].map(({ names }) =>
    texts.string({ type: "string", body: texts.both(names, texts.shortestBody), values: null }),
  );
}

function hasTexts({ compilation }: Meanings, texts: Expression, count: number): boolean {
  const { automaton } = compilation;
  return automaton.hasTexts(automaton.start(texts), count);
}

/** True if the goal is known to have at least `count` values. */
function hasValues(plans: Plans, goal: Goal, count: number, above: readonly Goal[] = []): boolean {
  if (above.includes(goal)) return false;
  const { listed, others } = scalarsOf(plans.meanings, goal);
  if (others !== null || new Set(listed).size >= count) return true;
  const hasAsMany = (inner: Goal): boolean => hasValues(plans, inner, count, [...above, goal]);
  return plans.plans(goal).some((plan) => {
    switch (plan.type) {
      case "scalar":
        return false;
      case "array":
        // For an array with one item, each value of this item gives a different array.
        return (
          plan.counters.length === 0 &&
          plan.min <= 1 &&
          plan.max >= 1 &&
          itemAt(plan, 0).some((way) => hasAsMany(way.goal))
        );
      case "object":
        if (plan.max !== Number.POSITIVE_INFINITY) return false;
        return (
          plan.rules.some((rule) => plans.isSatisfiable(rule.goal)) ||
          plan.declared.some((one) => one.isRequired && hasAsMany(one.goal))
        );
      default:
        return unreachable(plan);
    }
  });
}
