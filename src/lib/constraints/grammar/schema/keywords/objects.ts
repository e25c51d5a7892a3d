// Keywords of objects. `properties`, `patternProperties` and `additionalProperties` are read together. A property must
// satisfy all schemas that the first two keywords have for its name or, if they have none, `additionalProperties`.
import { limitExceeded } from "../../../regex/limits.ts";
import { anyValue, noValue } from "../goals.ts";
import type { Goal } from "../goals.ts";
import { allShapes, anyObject } from "../shapes.ts";
import type { Declared, NameRule, ObjectShape } from "../shapes.ts";
import { countOf, namedSchemas, namesOf, ofType, simpleKeyword, subschema } from "./keyword.ts";
import type { KeywordContext, Keyword, KeywordPlace, ReadKeyword } from "./keyword.ts";
import { patternBodies } from "./strings.ts";

/** Reads `properties`, `patternProperties` and `additionalProperties` together, at the first of them. */
const members: ReadKeyword = (context, _value, at) => {
  const first = Object.keys(at.schema).find((keyword) => memberKeywords.includes(keyword));
  return first === at.keyword ? readMembers(context, at) : null;
};

const memberKeywords = ["properties", "patternProperties", "additionalProperties"];

export const objectKeywords: Readonly<Record<string, ReadKeyword>> = {
  properties: members,
  patternProperties: members,
  additionalProperties: members,
  required(context, value, { pointer }) {
    const declared = namesOf(value, pointer).map((name) => ({
      name,
      goal: anyValue,
      isRequired: true,
    }));
    return objects(context, { declared: distinct(declared) }, pointer);
  },
  propertyNames(context, value, { pointer }) {
    const { goals, texts, compilation } = context;
    const goal = goals.of(subschema(context, value, pointer));
    const strings = context.shapes(goal).filter((shape) => shape.type === "string");
    const names = compilation.expressions.or(...strings.map((shape) => texts.bodies(shape)));
    return objects(context, { rules: [{ names, goal: anyValue, isPattern: false }] }, pointer);
  },
  minProperties(context, value, { pointer }) {
    return objects(context, { min: countOf(value, pointer), minAt: pointer }, pointer);
  },
  maxProperties(context, value, { pointer }) {
    return objects(context, { max: countOf(value, pointer) }, pointer);
  },
};

function readMembers(context: KeywordContext, { place, schema }: KeywordPlace): Keyword {
  const { goals, texts } = context;
  const { pointer } = place;
  const described = namedSchemas(context, schema.patternProperties, `${pointer}/patternProperties`).map(
    ([pattern, inner]) => ({
      names: patternBodies(context, pattern, inner.pointer),
      goal: goals.of(inner),
    }),
  );
  const { additionalProperties: open = true } = schema;
  const others = goals.of(subschema(context, open, `${pointer}/additionalProperties`));
  const declared = namedSchemas(context, schema.properties, `${pointer}/properties`).map(
    ([name, inner]): Declared => ({
      name,
      goal: described
        .filter(({ names }) => texts.holds(names, name))
        .reduce((goal, rule) => goals.and(goal, rule.goal), goals.of(inner)),
      isRequired: false,
    }),
  );
  const rules = nameRules(context, described, others);
  if (!context.document.tracksEvaluation) return objects(context, { declared, rules }, pointer);
  const evaluated =
    schema.additionalProperties === undefined
      ? context.compilation.expressions.or(
          ...declared.map(({ name }) => texts.everySpelling(name)),
          ...described.map(({ names }) => names),
        )
      : texts.anyBody;
  return objects(context, { declared, rules, evaluated }, pointer);
}

/**
 * Returns rules for names. Patterns may overlap, so the rules divide the names into groups that match the same
 * patterns.
 */
function nameRules(
  { goals, texts, compilation }: KeywordContext,
  described: readonly { readonly names: NameRule["names"]; readonly goal: Goal }[],
  others: Goal,
): readonly NameRule[] {
  const { automaton, limits } = compilation;
  let parted: readonly (NameRule & { readonly goal: Goal })[] = [
    { names: texts.anyBody, goal: anyValue, isPattern: false },
  ];
  for (const { names, goal } of described) {
    parted = parted
      .flatMap((rule) => [
        { names: texts.both(rule.names, names), goal: goals.and(rule.goal, goal), isPattern: true },
        { ...rule, names: texts.both(rule.names, texts.others(names)) },
      ])
      .filter((rule) => !automaton.isEmpty(rule.names));
    if (parted.length > limits.alternatives) throw limitExceeded("alternatives", limits.alternatives);
  }
  return parted
    .map((rule) => (rule.isPattern ? rule : { ...rule, goal: others }))
    .filter(({ goal }) => goal !== noValue);
}

function distinct(declared: readonly Declared[]): readonly Declared[] {
  return [...new Map(declared.map((one) => [one.name, one])).values()];
}

/** Returns the shape of all objects that have properties with these names. The shape has no other requirements. */
export function requiring(context: KeywordContext, names: readonly string[]): ObjectShape {
  const declared = names.map((name) => ({ name, goal: anyValue, isRequired: true }));
  return { ...anyObject(context.texts.anyBody), declared: distinct(declared) };
}

function objects(context: KeywordContext, changed: Partial<ObjectShape>, pointer: string): Keyword {
  const { anyBody } = context.texts;
  return simpleKeyword(ofType(allShapes(anyBody), { ...anyObject(anyBody), ...changed }), pointer);
}
