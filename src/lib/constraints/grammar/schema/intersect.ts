// Computes the intersection of two lists of shapes: exactly the values that both allow.
import { unreachable } from "../../../../base/domain/assert.ts";
import { limitExceeded } from "../../regex/limits.ts";
import { simplifyUnion, groupBy } from "./alternatives.ts";
import type { Algebra } from "./alternatives.ts";
import { readableShapes, valueNames } from "./few-values.ts";
import type { Goal } from "./goals.ts";
import { noValue } from "./goals.ts";
import { mergeClauses, resolveClauses } from "./presence.ts";
import type {
  ArrayShape,
  Declared,
  NameRule,
  NumberShape,
  ObjectShape,
  Shape,
  StringShape,
} from "./shapes.ts";
import { anyArray, anyNumber, isAnyObject, itemGoal } from "./shapes.ts";
import { commonSpan, listSpanValues } from "./spans.ts";

/**
 * Returns the intersection, without shapes that are known to be empty.
 *
 * @throws ConstraintRefusal if the intersection has too many shapes
 */
export function intersectShapes(
  algebra: Algebra,
  one: readonly Shape[],
  other: readonly Shape[],
): readonly Shape[] {
  const { budget, limits } = algebra.texts.compilation;
  const byType = groupBy(other, ({ type }) => type);
  const counts = new Map<Shape["type"], number>();
  const shared = one.flatMap((shape) => {
    const against = byType.get(shape.type) ?? [];
    counts.set(shape.type, (counts.get(shape.type) ?? 0) + 1);
    budget.spend(against.length);
    return against.flatMap((second) => common(algebra, shape, second) ?? []);
  });
  const multiplies = [...counts].some(([type, count]) => count > 1 && (byType.get(type)?.length ?? 0) > 1);
  if (!multiplies) return shared;
  const different = simplifyUnion(algebra, shared);
  if (different.length > limits.alternatives) throw limitExceeded("alternatives", limits.alternatives);
  return different;
}

/** Returns the conjunction of two goals. If one of them has few values, filters these values by the other goal. */
function commonGoal(algebra: Algebra, one: Goal, other: Goal): Goal {
  const { goals, fewValues } = algebra;
  const goal = goals.and(one, other);
  if (goal === one || goal === other || goal === noValue) return goal;
  for (const [listed, against] of [
    [one, other],
    [other, one],
  ]) {
    const values = fewValues.of(listed);
    const shapes = values === null ? null : readableShapes(algebra, against);
    if (values === null || shapes === null) continue;
    const left = intersectShapes(algebra, values, shapes);
    if (left.length === 0) return noValue;
    return valueCount(left) === valueCount(values) ? listed : goal;
  }
  return goal;
}

const valueCount = (shapes: readonly Shape[]): number =>
  shapes.reduce((sum, shape) => sum + (valueNames(shape)?.length ?? 0), 0);

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
  if (one === anyNumber) return other;
  if (other === anyNumber) return one;
  const { texts } = algebra;
  if (one.values !== null) {
    const values = one.values.filter((value) => texts.holdsNumber(other, value));
    return values.length === 0 ? null : { ...one, values };
  }
  if (other.values !== null) return commonNumbers(algebra, other, one);
  const within =
    one.within === null || other.within === null
      ? (one.within ?? other.within)
      : texts.compilation.expressions.and(one.within, other.within);
  const shape: NumberShape = {
    type: "number",
    isInteger: one.isInteger || other.isInteger,
    isShort: one.isShort || other.isShort,
    within,
    span: commonSpan(one.span, other.span),
    values: null,
  };
  const places = shape.isShort ? listSpanValues(shape.span) : null;
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
  if (one === anyArray) return other;
  if (other === anyArray) return one;
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
  const { anyBody } = algebra.texts;
  if (isAnyObject(one, anyBody)) return other;
  if (isAnyObject(other, anyBody)) return one;
  const min = Math.max(one.min, other.min);
  const max = Math.min(one.max, other.max);
  const names = new Set([...one.declared, ...other.declared].map(({ name }) => name));
  const declared: Declared[] = [];
  for (const name of names) {
    const [first, second] = [declaration(algebra, one, name), declaration(algebra, other, name)];
    const goal = commonGoal(algebra, first.goal, second.goal);
    const isRequired = first.isRequired || second.isRequired;
    if (isRequired && goal === noValue) return null;
    declared.push({ name, goal, isRequired });
  }
  const shape = resolveClauses({
    type: "object",
    declared,
    rules: commonRules(algebra, one.rules, other.rules),
    min,
    max,
    minAt: one.min >= other.min ? one.minAt : other.minAt,
    needs: [...one.needs, ...other.needs],
    clauses: mergeClauses(one.clauses, other.clauses),
    evaluated: algebra.texts.compilation.expressions.or(one.evaluated, other.evaluated),
  });
  const requiredCount = shape?.declared.filter(({ isRequired }) => isRequired).length ?? 0;
  return min > max || requiredCount > max ? null : shape;
}

/** Returns a shape's requirements on the property `name`, which the shape need not declare. */
function declaration({ texts }: Algebra, shape: ObjectShape, name: string): Declared {
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
  const { automaton } = texts.compilation;
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
