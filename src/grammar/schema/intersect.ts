// The values that two lists of shapes share. Exact: what is computed here is neither more nor less than both.
import { unreachable } from "../../domain/assert.ts";
import { differentShapes } from "./alternatives.ts";
import type { Algebra } from "./alternatives.ts";
import type { Goal } from "./goals.ts";
import { noValue } from "./goals.ts";
import type {
  ArrayShape,
  Declared,
  NameRule,
  NumberShape,
  ObjectShape,
  Shape,
  StringShape,
} from "./shapes.ts";
import { itemGoal } from "./shapes.ts";
import { commonSpan, fewPlacesOf } from "./spans.ts";

/**
 * Shapes that are plainly empty are left out.
 *
 * @throws ConstraintRefusal where they become too many
 */
export function commonShapes(
  algebra: Algebra,
  one: readonly Shape[],
  other: readonly Shape[],
): readonly Shape[] {
  const { budget } = algebra.texts.workshop;
  return differentShapes(
    algebra,
    one.flatMap((shape) => {
      budget.spend(other.length);
      return other.flatMap((against) => common(algebra, shape, against) ?? []);
    }),
  );
}

function common(algebra: Algebra, one: Shape, other: Shape): Shape | null {
  switch (one.type) {
    case "null":
      return other.type === "null" ? one : null;
    case "boolean": {
      if (other.type !== "boolean") return null;
      const values = one.values.filter((value) => other.values.includes(value));
      return values.length === 0 ? null : { type: "boolean", values };
    }
    case "number":
      return other.type === "number" ? commonNumbers(algebra, one, other) : null;
    case "string":
      return other.type === "string" ? commonStrings(algebra, one, other) : null;
    case "array":
      return other.type === "array" ? commonArrays(algebra, one, other) : null;
    case "object":
      return other.type === "object" ? commonObjects(algebra, one, other) : null;
    default:
      return unreachable(one);
  }
}

function commonNumbers(algebra: Algebra, one: NumberShape, other: NumberShape): NumberShape | null {
  const { texts } = algebra;
  if (one.values !== null) {
    const values = one.values.filter((value) => texts.holdsNumber(other, value));
    return values.length === 0 ? null : { ...one, values };
  }
  if (other.values !== null) return commonNumbers(algebra, other, one);
  const within =
    one.within === null || other.within === null
      ? (one.within ?? other.within)
      : texts.workshop.expressions.and(one.within, other.within);
  const shape: NumberShape = {
    type: "number",
    isInteger: one.isInteger || other.isInteger,
    isShort: one.isShort || other.isShort,
    within,
    span: commonSpan(one.span, other.span),
    values: null,
  };
  const places = shape.isShort ? fewPlacesOf(shape.span) : null;
  if (places === null) return shape;
  const values = places.filter((place) => texts.holdsNumber(shape, place));
  return values.length === 0 ? null : { ...shape, values };
}

function commonStrings(algebra: Algebra, one: StringShape, other: StringShape): StringShape | null {
  const { texts } = algebra;
  if (one.values !== null) {
    const known = other.values === null ? null : new Set(other.values);
    const values = one.values.filter((value) => known?.has(value) ?? texts.holds(other.body, value));
    return values.length === 0 ? null : { ...one, values };
  }
  if (other.values !== null) return commonStrings(algebra, other, one);
  return { type: "string", body: texts.both(one.body, other.body), values: null };
}

function commonArrays({ goals }: Algebra, one: ArrayShape, other: ArrayShape): ArrayShape | null {
  const min = Math.max(one.min, other.min);
  const max = Math.min(one.max, other.max);
  if (min > max) return null;
  const length = Math.max(one.prefix.length, other.prefix.length);
  return {
    type: "array",
    prefix: Array.from({ length }, (_, index) => goals.and(itemGoal(one, index), itemGoal(other, index))),
    rest: goals.and(one.rest, other.rest),
    min,
    max,
    uniqueAt: one.uniqueAt ?? other.uniqueAt,
    contains: [...one.contains, ...other.contains],
    evaluated: Math.max(one.evaluated, other.evaluated),
  };
}

function commonObjects(algebra: Algebra, one: ObjectShape, other: ObjectShape): ObjectShape | null {
  const { goals } = algebra;
  const min = Math.max(one.min, other.min);
  const max = Math.min(one.max, other.max);
  const names = new Set([...one.declared, ...other.declared].map(({ name }) => name));
  const declared: Declared[] = [];
  for (const name of names) {
    const [first, second] = [declaration(algebra, one, name), declaration(algebra, other, name)];
    const goal = goals.and(first.goal, second.goal);
    const isRequired = first.isRequired || second.isRequired;
    if (isRequired && goal === noValue) return null;
    declared.push({ name, goal, isRequired });
  }
  if (min > max || declared.filter(({ isRequired }) => isRequired).length > max) return null;
  return {
    type: "object",
    declared,
    rules: commonRules(algebra, one.rules, other.rules),
    min,
    max,
    minAt: one.min >= other.min ? one.minAt : other.minAt,
    needs: [...one.needs, ...other.needs],
    evaluated: algebra.texts.workshop.expressions.or(one.evaluated, other.evaluated),
  };
}

/** What a shape says of a name, declared or not. */
export function declaration({ texts }: Algebra, shape: ObjectShape, name: string): Declared {
  const declared = shape.declared.find((candidate) => candidate.name === name);
  if (declared !== undefined) return declared;
  const rule = shape.rules.find(({ names }) => texts.holds(names, name));
  return { name, goal: rule?.goal ?? noValue, isRequired: false };
}

function commonRules(
  { goals, texts }: Algebra,
  one: readonly NameRule[],
  other: readonly NameRule[],
): readonly NameRule[] {
  const { automaton } = texts.workshop;
  return one.flatMap((first) =>
    other.flatMap((second): readonly NameRule[] => {
      const goal: Goal = goals.and(first.goal, second.goal);
      if (goal === noValue) return [];
      const names = texts.both(first.names, second.names);
      if (automaton.isEmpty(names)) return [];
      return [{ names, goal, isPattern: first.isPattern || second.isPattern }];
    }),
  );
}
