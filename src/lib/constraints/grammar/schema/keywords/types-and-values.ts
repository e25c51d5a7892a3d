// The keywords `type`, `nullable`, `enum` and `const`.
import { ExactNumber } from "../../../../../base/domain/text/exact-json.ts";
import type { ExactJson } from "../../../../../base/domain/text/exact-json.ts";
import { isObject } from "../document.ts";
import { noValue } from "../goals.ts";
import { allShapes, anyArray, anyNumber, anyObject } from "../shapes.ts";
import type { Shape } from "../shapes.ts";
import { everywhere } from "../spans.ts";
import { malformed, simpleKeyword } from "./keyword.ts";
import { decimalOf } from "./numbers.ts";
import type { KeywordContext, ReadKeyword } from "./keyword.ts";

export const typeKeywords: Readonly<Record<string, ReadKeyword>> = {
  type(context, value, { pointer, schema }) {
    const names: readonly ExactJson[] = Array.isArray(value) ? value : [value];
    // OpenAPI 3.0 has no null type. It has the keyword `nullable` instead.
    const all = schema.nullable === true ? [...names, "null"] : names;
    return simpleKeyword(shapesOfTypes(context, all, pointer), pointer);
  },
  enum(context, value, { pointer }) {
    if (!Array.isArray(value)) throw malformed(pointer, "a list of values", value);
    return simpleKeyword(shapesOfValues(context, value, pointer), pointer);
  },
  const(context, value, { pointer }) {
    return simpleKeyword(shapesOfValues(context, [value], pointer), pointer);
  },
};

function shapesOfTypes(
  { texts }: KeywordContext,
  names: readonly ExactJson[],
  pointer: string,
): readonly Shape[] {
  const all = allShapes(texts.anyBody);
  return [...new Set(names)].flatMap((name): readonly Shape[] => {
    if (name === "integer") {
      if (names.includes("number")) return [];
      return [{ ...anyNumber, isInteger: true, span: { ...everywhere, step: 1 } }];
    }
    const shapes = all.filter(({ type }) => type === name);
    if (shapes.length === 0) throw malformed(pointer, "the name of a type, or a list of them", name);
    return shapes;
  });
}

/**
 * Returns shapes for listed values: one for all strings, one for all numbers, and a separate one for each array and
 * object.
 */
function shapesOfValues(
  context: KeywordContext,
  values: readonly ExactJson[],
  pointer: string,
): readonly Shape[] {
  const shapes: Shape[] = [];
  const strings = values.filter((value) => typeof value === "string");
  const numbers = values
    .filter((value) => typeof value === "number" || value instanceof ExactNumber)
    .map((value) => decimalOf(value, pointer));
  const booleans = values.filter((value) => typeof value === "boolean");
  if (values.includes(null)) shapes.push({ type: "null" });
  if (booleans.length > 0) shapes.push({ type: "boolean", values: booleans });
  if (numbers.length > 0) {
    const texts = [...new Set(numbers)];
    shapes.push({ ...anyNumber, values: texts });
  }
  if (strings.length > 0)
    shapes.push({ type: "string", body: context.texts.anyBody, values: [...new Set(strings)] });
  for (const [index, value] of values.entries()) {
    const shape = shapeOfCompound(context, value, `${pointer}/${index}`);
    if (shape !== null) shapes.push(shape);
  }
  return shapes;
}

function shapeOfCompound(
  { document, goals, texts }: KeywordContext,
  value: ExactJson,
  pointer: string,
): Shape | null {
  const goalOf = (inner: ExactJson, key: string | number) =>
    goals.of(document.literal(inner, `${pointer}/${key}`));
  if (Array.isArray(value)) {
    const prefix = value.map((item: ExactJson, index) => goalOf(item, index));
    const [min, max] = [prefix.length, prefix.length];
    return { ...anyArray, prefix, rest: noValue, min, max };
  }
  if (!isObject(value)) return null;
  const declared = Object.entries(value).map(([name, inner]) => ({
    name,
    goal: goalOf(inner, name),
    isRequired: true,
  }));
  return { ...anyObject(texts.anyBody), declared, rules: [] };
}
