// The keywords `unevaluatedProperties` and `unevaluatedItems`: a schema for all properties or items that no other
// keyword has evaluated, in the same schema or in those that it combines. Shapes record what was evaluated; this
// module constrains everything else.
import { nothing } from "../../../regex/expressions.ts";
import type { ExactJson } from "../../../../../base/domain/text/exact-json.ts";
import type { SchemaPlace } from "../document.ts";
import { isObject } from "../document.ts";
import { anyValue, noValue } from "../goals.ts";
import type { Goal } from "../goals.ts";
import { intersectShapes } from "../intersect.ts";
import { anyArray, anyObject } from "../shapes.ts";
import type { ArrayShape, ObjectShape, Shape } from "../shapes.ts";
import { refused, subschema } from "./keyword.ts";
import type { KeywordContext } from "./keyword.ts";

export const unevaluatedKeywords = ["unevaluatedProperties", "unevaluatedItems"] as const;

/** Constrains the properties and items that the schema's other keywords did not evaluate. */
export function withUnevaluated(
  context: KeywordContext,
  place: SchemaPlace,
  shapes: readonly Shape[],
): readonly Shape[] {
  return unevaluatedKeywords.reduce((held, keyword) => {
    const value = valueOf(place, keyword);
    if (value === undefined) return held;
    const pointer = `${place.pointer}/${keyword}`;
    const goal = context.goals.of(subschema(context, value, pointer));
    return held.flatMap((shape) => {
      if (shape.type === "object" && keyword === "unevaluatedProperties")
        return intersectShapes(context, [shape], [heldProperties(context, shape, goal)]);
      if (shape.type === "array" && keyword === "unevaluatedItems")
        return intersectShapes(context, [shape], [heldItems(shape, goal, pointer)]);
      return [shape];
    });
  }, shapes);
}

/**
 * Checks that the complement of a schema does not depend on evaluated properties and items.
 *
 * @throws ConstraintRefusal for a schema with one of the unevaluated keywords
 */
export function checkNegation(place: SchemaPlace): void {
  for (const keyword of unevaluatedKeywords) {
    if (valueOf(place, keyword) !== undefined)
      throw refused(
        keyword,
        `${place.pointer}/${keyword}`,
        "would have to be negated, which cannot be expressed exactly",
      );
  }
}

/** Returns the shape without evaluated properties and items, because a violated schema evaluates nothing. */
export function clearEvaluated(shape: Shape): Shape {
  if (shape.type === "object" && shape.evaluated !== nothing) return { ...shape, evaluated: nothing };
  return shape.type === "array" && shape.evaluated > 0 ? { ...shape, evaluated: 0 } : shape;
}

const valueOf = (
  { schema }: SchemaPlace,
  keyword: (typeof unevaluatedKeywords)[number],
): ExactJson | undefined => (isObject(schema) ? schema[keyword] : undefined);

function heldProperties({ texts }: KeywordContext, { evaluated }: ObjectShape, goal: Goal): ObjectShape {
  const others = { names: texts.others(evaluated), goal, isPattern: false };
  const rules = [
    { names: evaluated, goal: anyValue, isPattern: false },
    ...(goal === noValue ? [] : [others]),
  ];
  return { ...anyObject(texts.anyBody), rules, evaluated: texts.anyBody };
}

function heldItems(shape: ArrayShape, goal: Goal, pointer: string): ArrayShape {
  const { evaluated, contains } = shape;
  if (evaluated === Number.POSITIVE_INFINITY) return anyArray;
  if (contains.length > 0) throw refused("unevaluatedItems", pointer, "cannot be combined with contains");
  return {
    ...anyArray,
    prefix: Array.from({ length: evaluated }, () => anyValue),
    rest: goal,
    evaluated: Number.POSITIVE_INFINITY,
  };
}
