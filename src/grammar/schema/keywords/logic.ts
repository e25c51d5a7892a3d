// Keywords that combine schemas, references among them. All become lists of shapes: alternatives are united, what is
// ruled out is complemented.
import { isExactObject } from "../../../domain/text/exact-json.ts";
import type { ExactJson } from "../../../domain/text/exact-json.ts";
import { noValue } from "../goals.ts";
import { escaped } from "../document.ts";
import type { SchemaPlace } from "../document.ts";
import { commonShapes } from "../intersect.ts";
import { rivalsOf } from "../rivals.ts";
import { allShapes, anyObject } from "../shapes.ts";
import type { Shape } from "../shapes.ts";
import { malformed, namesOf, ofType, refused, subschema, subschemas } from "./keyword.ts";
import type { KeywordContext, ReadKeyword } from "./keyword.ts";
import { requiring } from "./objects.ts";

export const logicKeywords: Readonly<Record<string, ReadKeyword>> = {
  $ref(context, value, { place, pointer }) {
    if (typeof value !== "string") throw malformed(pointer, "a reference", value);
    return { shapes: context.satisfying(context.document.resolve(place, value)), pointer };
  },
  $dynamicRef(context, value, { place, pointer, keyword }) {
    if (typeof value !== "string") throw malformed(pointer, "a reference", value);
    const target = context.document.resolveDynamic(place, value);
    if (target === null) throw refused(keyword, pointer, "has several anchors to choose from");
    return { shapes: context.satisfying(target), pointer };
  },
  allOf(context, value, { pointer }) {
    const parts = subschemas(context, value, pointer);
    return { shapes: context.intersection(parts.map((part) => context.satisfying(part))), pointer };
  },
  anyOf(context, value, { pointer }) {
    const parts = subschemas(context, value, pointer);
    const forms = parts.map((part) => context.satisfying(part));
    return {
      shapes: context.union(context.document.tracksEvaluation ? [everyUnion(context, forms)] : forms),
      pointer,
    };
  },
  oneOf(context, value, { pointer }) {
    const parts = subschemas(context, value, pointer);
    return { shapes: exactlyOne(context, parts), pointer };
  },
  not(context, value, { pointer }) {
    return { shapes: context.excluding(subschema(context, value, pointer)), pointer };
  },
  if(context, value, { pointer, place, schema }) {
    const condition = subschema(context, value, pointer);
    const branch = (keyword: "then" | "else"): readonly Shape[] | null => {
      const inner = schema[keyword];
      return inner === undefined
        ? null
        : context.satisfying(subschema(context, inner, `${place.pointer}/${keyword}`));
    };
    const [then, otherwise] = [branch("then"), branch("else")];
    if (then === null && otherwise === null && !context.document.tracksEvaluation) return null;
    const holds = context.satisfying(condition);
    const fails = context.excluding(condition);
    const forms = [
      then === null ? holds : commonShapes(context, holds, then),
      otherwise === null ? fails : commonShapes(context, fails, otherwise),
    ];
    return { shapes: context.union(forms), pointer };
  },
  dependentRequired(context, value, { pointer }) {
    return { shapes: dependencies(context, value, pointer), pointer };
  },
  dependentSchemas(context, value, { pointer }) {
    return { shapes: dependencies(context, value, pointer), pointer };
  },
  dependencies(context, value, { pointer }) {
    return { shapes: dependencies(context, value, pointer), pointer };
  },
};

/** The values of any of the forms, for each also what several of them that hold looked at. */
function everyUnion(context: KeywordContext, forms: readonly (readonly Shape[])[]): readonly Shape[] {
  return forms.reduce<readonly Shape[]>(
    (sofar, form) => context.union([sofar, form, commonShapes(context, sofar, form)]),
    [],
  );
}

/** Where two branches share values, a value of both is taken out of each. */
function exactlyOne(context: KeywordContext, parts: readonly SchemaPlace[]): readonly Shape[] {
  const forms = parts.map((part) => context.satisfying(part));
  const alone = rivalsOf(context, forms).map((rivals, index) =>
    rivals.reduce(
      (left, rival) => commonShapes(context, left, context.excluding(parts[rival])),
      forms[index],
    ),
  );
  return context.union(alone);
}

/** For every name: it is missing, or what it asks for holds. */
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
      : commonShapes(
          context,
          [requiring(context, [name])],
          context.satisfying(subschema(context, wanted, at)),
        );
    return context.union([absent, present]);
  });
  return context.intersection(forms);
}
