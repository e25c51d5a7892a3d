// Keywords that combine schemas, including references. They are expressed as lists of shapes: alternatives become
// unions, and exclusions become complements.
import { isExactObject } from "../../../../../base/domain/text/exact-json.ts";
import type { ExactJson } from "../../../../../base/domain/text/exact-json.ts";
import { noValue } from "../goals.ts";
import { escaped } from "../document.ts";
import type { SchemaPlace } from "../document.ts";
import { intersectShapes } from "../intersect.ts";
import { overlappingBranches } from "../branch-overlap.ts";
import { allShapes, anyObject } from "../shapes.ts";
import type { Shape } from "../shapes.ts";
import { malformed, namesOf, ofType, refused, simpleKeyword, subschema, subschemas } from "./keyword.ts";
import type { Keyword, KeywordContext, ReadKeyword } from "./keyword.ts";
import { requiring } from "./objects.ts";

export const logicKeywords: Readonly<Record<string, ReadKeyword>> = {
  $ref(context, value, { place, pointer }) {
    if (typeof value !== "string") throw malformed(pointer, "a reference", value);
    return referring(context, context.document.resolve(place, value), pointer);
  },
  $dynamicRef(context, value, { place, pointer, keyword }) {
    if (typeof value !== "string") throw malformed(pointer, "a reference", value);
    const target = context.document.resolveDynamic(place, value);
    if (target === null) throw refused(keyword, pointer, "is ambiguous between several anchors");
    return referring(context, target, pointer);
  },
  allOf(context, value, { pointer }) {
    const parts = subschemas(context, value, pointer);
    return {
      pointer,
      satisfying: () => context.intersection(parts.map((part) => context.satisfying(part))),
      excluding: () => context.union(parts.map((part) => context.excluding(part))),
    };
  },
  anyOf(context, value, { pointer }) {
    const parts = subschemas(context, value, pointer);
    return {
      pointer,
      satisfying: () => {
        const forms = parts.map((part) => context.satisfying(part));
        return context.union(context.document.tracksEvaluation ? [everyUnion(context, forms)] : forms);
      },
      excluding: () => context.intersection(parts.map((part) => context.excluding(part))),
    };
  },
  oneOf(context, value, { pointer }) {
    const parts = subschemas(context, value, pointer);
    return {
      pointer,
      satisfying: () => exactlyOne(context, parts),
      excluding: () => noneOrSeveral(context, parts),
    };
  },
  not(context, value, { pointer }) {
    const ruledOut = subschema(context, value, pointer);
    return {
      pointer,
      satisfying: () => context.excluding(ruledOut),
      excluding: () => context.satisfying(ruledOut),
    };
  },
  if(context, value, { pointer, place, schema }) {
    const condition = subschema(context, value, pointer);
    const branch = (keyword: "then" | "else"): SchemaPlace | null => {
      const inner = schema[keyword];
      return inner === undefined ? null : subschema(context, inner, `${place.pointer}/${keyword}`);
    };
    const [then, otherwise] = [branch("then"), branch("else")];
    if (then === null && otherwise === null && !context.document.tracksEvaluation) return null;
    const holds = (): readonly Shape[] => context.satisfying(condition);
    const fails = (): readonly Shape[] => context.excluding(condition);
    return {
      pointer,
      satisfying: () =>
        context.union([
          then === null ? holds() : intersectShapes(context, holds(), context.satisfying(then)),
          otherwise === null ? fails() : intersectShapes(context, fails(), context.satisfying(otherwise)),
        ]),
      excluding: () =>
        context.union([
          then === null ? [] : intersectShapes(context, holds(), context.excluding(then)),
          otherwise === null ? [] : intersectShapes(context, fails(), context.excluding(otherwise)),
        ]),
    };
  },
  dependentRequired(context, value, { pointer }) {
    return simpleKeyword(dependencies(context, value, pointer), pointer);
  },
  dependentSchemas(context, value, { pointer }) {
    return simpleKeyword(dependencies(context, value, pointer), pointer);
  },
  dependencies(context, value, { pointer }) {
    return simpleKeyword(dependencies(context, value, pointer), pointer);
  },
};

function referring(context: KeywordContext, target: SchemaPlace, pointer: string): Keyword {
  return {
    pointer,
    satisfying: () => context.satisfying(target),
    excluding: () => context.excluding(target),
  };
}

/**
 * Returns the union of the branches' shapes. For values that satisfy several branches, the union has shapes that record
 * the properties and items that any of these branches evaluates.
 */
function everyUnion(context: KeywordContext, forms: readonly (readonly Shape[])[]): readonly Shape[] {
  return forms.reduce<readonly Shape[]>(
    (sofar, form) => context.union([sofar, form, intersectShapes(context, sofar, form)]),
    [],
  );
}

/**
 * Returns the shapes of the values that satisfy exactly one branch: each branch without the values that another branch
 * allows too.
 */
function exactlyOne(context: KeywordContext, parts: readonly SchemaPlace[]): readonly Shape[] {
  const forms = parts.map((part) => context.satisfying(part));
  const alone = overlappingBranches(context, forms).map((rivals, index) =>
    rivals.reduce(
      (left, rival) => intersectShapes(context, left, context.excluding(parts[rival])),
      forms[index],
    ),
  );
  return context.union(alone);
}

/** Returns the shapes of the values that violate `oneOf`, because they satisfy no branch or at least two. */
function noneOrSeveral(context: KeywordContext, parts: readonly SchemaPlace[]): readonly Shape[] {
  const forms = parts.map((part) => context.satisfying(part));
  const several = overlappingBranches(context, forms).flatMap((rivals, index) =>
    rivals
      .filter((rival) => rival > index)
      .map((rival) => intersectShapes(context, forms[index], forms[rival])),
  );
  return context.union([context.intersection(parts.map((part) => context.excluding(part))), ...several]);
}

/**
 * Returns the shapes of the values that satisfy the dependencies: for each name, an object either lacks the property or
 * satisfies the requirement of that name.
 */
function dependencies(context: KeywordContext, value: ExactJson, pointer: string): readonly Shape[] {
  const { anyBody } = context.texts;
  const all = allShapes(anyBody);
  if (!isExactObject(value)) throw malformed(pointer, "an object of names or schemas", value);
  const forms = Object.entries(value).map(([name, wanted]) => {
    const at = `${pointer}/${escaped(name)}`;
    const missing = { name, goal: noValue, isRequired: false };
    const absent = ofType(all, { ...anyObject(anyBody), declared: [missing] });
    const present = Array.isArray(wanted)
      ? [requiring(context, [name, ...namesOf(wanted, at)])]
      : intersectShapes(
          context,
          [requiring(context, [name])],
          context.satisfying(subschema(context, wanted, at)),
        );
    return context.union([absent, present]);
  });
  return context.intersection(forms);
}
