// Computes the complement of a list of shapes, again as shapes: for each type, the values that violate every shape of
// that type. If shapes cannot express the complement, the refusal names the keyword that would have to be negated.
import { unreachable } from "../../../../base/domain/assert.ts";
import type { ConstraintRefusal } from "../../regex/limits.ts";
import { anyValue, noValue } from "./goals.ts";
import type { Goal } from "./goals.ts";
import { intersectShapes } from "./intersect.ts";
import { mergeByPresence } from "./presence.ts";
import { refused } from "./keywords/keyword.ts";
import type { Algebra } from "./alternatives.ts";
import { allShapes, anyArray, anyNumber, anyObject } from "./shapes.ts";
import type { ArrayShape, ObjectShape, Shape } from "./shapes.ts";

/**
 * Returns the complement of the shapes.
 *
 * @param place pointer of the keyword that excludes the shapes
 */
export function complementShapes(
  algebra: Algebra,
  shapes: readonly Shape[],
  place: string,
): readonly Shape[] {
  return allShapes(algebra.texts.anyBody).flatMap((all) =>
    shapes
      .filter(({ type }) => type === all.type)
      .reduce<readonly Shape[]>(
        (left, shape) =>
          intersectShapes(algebra, left, mergeByPresence(algebra.texts, violations(algebra, shape, place))),
        [all],
      ),
  );
}

function violations(algebra: Algebra, shape: Shape, place: string): readonly Shape[] {
  const { texts } = algebra;
  switch (shape.type) {
    case "null":
      return [];
    case "boolean": {
      const values = [false, true].filter((value) => !shape.values.includes(value));
      return values.length === 0 ? [] : [{ type: "boolean", values }];
    }
    case "number": {
      const values = texts.numberValues(shape);
      if (values === null) return [];
      return [{ ...anyNumber, isShort: shape.isShort, within: texts.compilation.expressions.not(values) }];
    }
    case "string": {
      const bodies = texts.bodies(shape);
      if (bodies === texts.anyBody) return [];
      return [{ type: "string", body: texts.others(bodies), values: null }];
    }
    case "array":
      return arrayViolations(algebra, shape, place);
    case "object":
      return objectViolations(algebra, shape, place);
    default:
      return unreachable(shape);
  }
}

function arrayViolations({ goals }: Algebra, shape: ArrayShape, place: string): readonly Shape[] {
  if (shape.uniqueAt !== null) throw notExpressible("uniqueItems", place);
  const shapes: Shape[] = [];
  if (shape.min > 0) shapes.push({ ...anyArray, max: shape.min - 1 });
  if (shape.max < Number.POSITIVE_INFINITY) shapes.push({ ...anyArray, min: shape.max + 1 });
  for (const [index, goal] of shape.prefix.entries()) {
    const before: readonly Goal[] = shape.prefix.slice(0, index).map(() => anyValue);
    for (const missed of goals.not(goal))
      shapes.push({ ...anyArray, prefix: [...before, missed], min: index + 1 });
  }
  for (const missed of goals.not(shape.rest)) {
    // No item may follow the prefix, so an array with one more item is a violation.
    if (missed === anyValue) shapes.push({ ...anyArray, min: shape.prefix.length + 1 });
    else if (shape.prefix.length > 0) throw notExpressible("items after prefixItems", place);
    else shapes.push({ ...anyArray, contains: [containing(missed, 1, place)] });
  }
  for (const { goal, min, max } of shape.contains) {
    if (min > 0) shapes.push({ ...anyArray, contains: [{ ...containing(goal, 0, place), max: min - 1 }] });
    if (max < Number.POSITIVE_INFINITY)
      shapes.push({ ...anyArray, contains: [containing(goal, max + 1, place)] });
  }
  return shapes;
}

const containing = (goal: Goal, min: number, pointer: string) => ({
  goal,
  min,
  max: Number.POSITIVE_INFINITY,
  pointer,
});

function objectViolations(algebra: Algebra, shape: ObjectShape, place: string): readonly Shape[] {
  const { goals, texts } = algebra;
  const { expressions } = texts.compilation;
  const any = anyObject(texts.anyBody);
  const shapes: ObjectShape[] = [];
  const only = (name: string, goal: Goal, isRequired: boolean): ObjectShape => ({
    ...any,
    declared: [{ name, goal, isRequired }],
  });
  if (shape.min > 0) shapes.push({ ...any, max: shape.min - 1 });
  if (shape.max < Number.POSITIVE_INFINITY) shapes.push({ ...any, min: shape.max + 1, minAt: place });
  for (const { name, goal, isRequired } of shape.declared) {
    if (isRequired) shapes.push(only(name, noValue, false));
    for (const missed of goals.not(goal)) shapes.push(only(name, missed, true));
  }
  for (const clause of shape.clauses) {
    const others = clause.map(({ name, isThere }) => ({
      name,
      goal: isThere ? noValue : anyValue,
      isRequired: !isThere,
    }));
    shapes.push({ ...any, declared: others });
  }
  for (const { names, goal } of shape.needs) {
    const [missed, ...more] = goals.not(goal);
    // Different properties could violate different parts of the goal, which rules cannot express.
    if (more.length > 0) throw notExpressible("not", place);
    const others = { names: texts.others(names), goal: anyValue, isPattern: false };
    const rules = missed === noValue ? [others] : [{ names, goal: missed, isPattern: true }, others];
    shapes.push({ ...any, rules });
  }
  const open = texts.besides(shape.declared.map(({ name }) => name));
  const described = shape.rules.map(({ names }) => names);
  const missing = [
    ...shape.rules.flatMap(({ names, goal }) =>
      goals.not(goal).map((missed) => ({ names: texts.both(names, open), goal: missed, pointer: place })),
    ),
    // If one rule covers all names, no other names remain. This case skips the emptiness check below, which would be
    // expensive.
    ...(described.includes(texts.anyBody)
      ? []
      : [
          {
            names: texts.both(open, texts.others(expressions.or(...described))),
            goal: anyValue,
            pointer: place,
          },
        ]),
  ];
  for (const need of missing) {
    if (!texts.compilation.automaton.isEmpty(need.names)) shapes.push({ ...any, needs: [need] });
  }
  return shapes;
}

const notExpressible = (keyword: string, place: string): ConstraintRefusal =>
  refused(keyword, place, "would have to be negated, which cannot be expressed exactly");
