// Validation rules of JSON Schema 2020-12, one for each keyword. A rule reports a fault as a phrase, such as
// `is not of type string`; the message is the value followed by this phrase. Through `Walk`, a rule applies inner
// schemas to inner values.
import { isJsonObject, type Json, type JsonObject } from "../../../base/domain/text/json.ts";
import { canonicalJson } from "../canonical-json.ts";
import { isMultipleOf } from "./multiples.ts";
import { shown, textOf } from "./field-schema.ts";
import type { Keyword } from "./schema-keywords.ts";

/** Context in which a validation rule is applied to a value. */
export interface Walk {
  /** The schema that contains the rule's keyword. */
  readonly schema: JsonObject;
  /** Reports a fault of the value, or of a part of it. */
  fault(message: string, ...below: readonly string[]): void;
  /** Validates a value against an inner schema, and reports its faults. */
  visit(schema: Json, value: Json, ...below: readonly string[]): void;
  /** True if a value conforms to an inner schema. Reports no faults. */
  fits(schema: Json, value: Json): boolean;
  /** Returns the schema to which a reference points. */
  target(reference: string): Json;
  /** True if a pattern matches anywhere in a text. */
  matches(pattern: string, text: string): boolean;
  /**
   * Counts steps toward the maximum number of steps. Rules call it for work that grows with the value or the schema.
   */
  spend(steps: number): void;
}

type Rule = (wanted: Json, value: Json, walk: Walk) => void;

/**
 * Rule for keywords that constrain nothing by themselves. Either another keyword's rule reads them, or they only
 * contain schemas to which references point.
 */
const none: Rule = () => undefined;

export const valueRules: { readonly [Name in Keyword]: Rule } = {
  $ref: (wanted, value, walk) => walk.visit(walk.target(textOf(wanted)), value),
  $defs: none,
  definitions: none,
  type: (wanted, value, walk) => {
    const types = [wanted].flat().map(textOf);
    if (!types.some((type) => isOfType(type, value))) walk.fault(`is not of type ${types.join(" or ")}`);
  },
  enum: (wanted, value, walk) => {
    const values = listOf(wanted);
    walk.spend(values.length);
    if (!values.some((one) => areEqual(one, value, walk))) {
      walk.fault(
        `is not one of ${values.slice(0, 20).map(shown).join(", ")}${values.length > 20 ? ", …" : ""}`,
      );
    }
  },
  const: (wanted, value, walk) => {
    if (!areEqual(wanted, value, walk)) walk.fault(`is not ${shown(wanted)}`);
  },
  allOf: (wanted, value, walk) => {
    for (const one of listOf(wanted)) walk.visit(one, value);
  },
  anyOf: (wanted, value, walk) => {
    if (!listOf(wanted).some((one) => walk.fits(one, value))) {
      walk.fault(`fits none of the ${listOf(wanted).length} schemas of anyOf`);
    }
  },
  oneOf: (wanted, value, walk) => {
    const count = listOf(wanted).filter((one) => walk.fits(one, value)).length;
    if (count !== 1) walk.fault(`fits ${count} of the schemas of oneOf; it must fit one`);
  },
  not: (wanted, value, walk) => {
    if (walk.fits(wanted, value)) walk.fault("fits what the schema excludes (not)");
  },
  if: (wanted, value, walk) => {
    const branch = walk.fits(wanted, value) ? walk.schema["then"] : walk.schema["else"];
    if (branch !== undefined) walk.visit(branch, value);
  },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: none,
  else: none,
  minimum: ofNumbers((bound, value) => (value < bound ? `is less than the minimum of ${bound}` : null)),
  maximum: ofNumbers((bound, value) => (value > bound ? `is greater than the maximum of ${bound}` : null)),
  exclusiveMinimum: ofNumbers((bound, value) => (value <= bound ? `is not greater than ${bound}` : null)),
  exclusiveMaximum: ofNumbers((bound, value) => (value >= bound ? `is not less than ${bound}` : null)),
  multipleOf: ofNumbers((step, value) => (isMultipleOf(value, step) ? null : `is no multiple of ${step}`)),
  minLength: ofTexts((least, length) =>
    length < least ? `has ${length} characters; the least is ${least}` : null,
  ),
  maxLength: ofTexts((most, length) =>
    length > most ? `has ${length} characters; the most is ${most}` : null,
  ),
  pattern: (wanted, value, walk) => {
    if (typeof value !== "string" || walk.matches(textOf(wanted), value)) return;
    walk.fault(`does not match the pattern ${shown(wanted)}`);
  },
  prefixItems: (wanted, value, walk) => {
    if (!Array.isArray(value)) return;
    for (const [index, one] of listOf(wanted).slice(0, value.length).entries()) {
      walk.visit(one, value[index], String(index));
    }
  },
  items: (wanted, value, walk) => {
    const list = listOf(value);
    for (let index = listOf(walk.schema["prefixItems"]).length; index < list.length; index++) {
      walk.visit(wanted, list[index], String(index));
    }
  },
  contains: (wanted, value, walk) => {
    if (!Array.isArray(value)) return;
    const { minContains: least = 1, maxContains: most = Infinity } = walk.schema;
    const count = listOf(value).filter((item) => walk.fits(wanted, item)).length;
    if (count < Number(least))
      walk.fault(`has ${count} items that fit contains; the least is ${shown(least)}`);
    if (count > Number(most)) walk.fault(`has ${count} items that fit contains; the most is ${Number(most)}`);
  },
  minContains: none,
  maxContains: none,
  minItems: ofLists((least, count) => (count < least ? `has ${count} items; the least is ${least}` : null)),
  maxItems: ofLists((most, count) => (count > most ? `has ${count} items; the most is ${most}` : null)),
  uniqueItems: (wanted, value, walk) => {
    if (wanted !== true || !Array.isArray(value)) return;
    const texts = listOf(value).map((item) => canonicalOf(item, walk));
    if (new Set(texts).size < texts.length) walk.fault("has an item twice");
  },
  properties: (wanted, value, walk) => {
    if (!isJsonObject(value)) return;
    for (const [name, schema] of membersOf(wanted)) {
      walk.spend(1);
      if (Object.hasOwn(value, name)) walk.visit(schema, value[name], name);
    }
  },
  patternProperties: (wanted, value, walk) => {
    for (const [name, member] of membersOf(value)) {
      for (const [pattern, schema] of membersOf(wanted)) {
        if (walk.matches(pattern, name)) walk.visit(schema, member, name);
      }
    }
  },
  additionalProperties: (wanted, value, walk) => {
    const { properties = {}, patternProperties = {} } = walk.schema;
    const patterns = membersOf(patternProperties).map(([pattern]) => pattern);
    for (const [name, member] of membersOf(value)) {
      if (Object.hasOwn(Object(properties), name)) continue;
      if (patterns.some((pattern) => walk.matches(pattern, name))) continue;
      if (wanted === false) walk.fault("is a property that the schema does not name", name);
      else walk.visit(wanted, member, name);
    }
  },
  propertyNames: (wanted, value, walk) => {
    for (const [name] of membersOf(value)) {
      if (!walk.fits(wanted, name)) walk.fault(`has a name that propertyNames does not take`, name);
    }
  },
  required: (wanted, value, walk) => {
    if (!isJsonObject(value)) return;
    for (const name of listOf(wanted)) {
      if (!Object.hasOwn(value, textOf(name))) walk.fault(`lacks the property ${shown(name)}`);
    }
  },
  minProperties: ofObjects((least, count) =>
    count < least ? `has ${count} properties; the least is ${least}` : null,
  ),
  maxProperties: ofObjects((most, count) =>
    count > most ? `has ${count} properties; the most is ${most}` : null,
  ),
  dependentRequired: (wanted, value, walk) => {
    if (!isJsonObject(value)) return;
    for (const [name, names] of membersOf(wanted)) {
      if (!Object.hasOwn(value, name)) continue;
      const missing = listOf(names).filter((other) => !Object.hasOwn(value, textOf(other)));
      for (const other of missing)
        walk.fault(`lacks the property ${shown(other)}, which ${shown(name)} asks for`);
    }
  },
  dependentSchemas: (wanted, value, walk) => {
    if (!isJsonObject(value)) return;
    for (const [name, schema] of membersOf(wanted)) if (Object.hasOwn(value, name)) walk.visit(schema, value);
  },
};

/**
 * Checks a measure of the value, such as its length, against the keyword's bound. Returns the fault; null if the
 * measure is within the bound.
 */
type Bound = (bound: number, measure: number) => string | null;

function bounded(measureOf: (value: Json, walk: Walk) => number | null, bound: Bound): Rule {
  return (wanted, value, walk) => {
    const measure = measureOf(value, walk);
    const message = measure === null ? null : bound(Number(wanted), measure);
    if (message !== null) walk.fault(message);
  };
}

function ofNumbers(bound: Bound): Rule {
  return bounded((value) => (typeof value === "number" ? value : null), bound);
}

function ofTexts(bound: Bound): Rule {
  return bounded((value, walk) => {
    if (typeof value !== "string") return null;
    walk.spend(value.length >>> 4);
    return Array.from(value).length;
  }, bound);
}

function ofLists(bound: Bound): Rule {
  return bounded((value) => (Array.isArray(value) ? value.length : null), bound);
}

function ofObjects(bound: Bound): Rule {
  return bounded((value) => (isJsonObject(value) ? Object.keys(value).length : null), bound);
}

function isOfType(type: string, value: Json): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  return type === "object" ? isJsonObject(value) : typeof value === type;
}

function areEqual(one: Json, other: Json, walk: Walk): boolean {
  if (typeof one !== "object" || typeof other !== "object") return one === other;
  return canonicalOf(one, walk) === canonicalOf(other, walk);
}

function canonicalOf(value: Json, walk: Walk): string {
  const text = canonicalJson(value);
  walk.spend(text.length >>> 4);
  return text;
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function membersOf(value: Json | undefined): readonly (readonly [string, Json])[] {
  return isJsonObject(value) ? Object.entries(value) : [];
}
