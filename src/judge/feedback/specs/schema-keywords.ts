// Keywords of JSON Schema 2020-12, and the form that each keyword's value must have. The parser uses them;
// value-rules.ts enforces the constraints. As in the standard, all other keywords are annotations, which constrain
// nothing.

/** Form that the value of a keyword must have. */
export type KeywordForm =
  | "schema"
  | "schemas"
  | "schema-map"
  | "pattern-map"
  | "types"
  | "any"
  | "values"
  | "number"
  | "positive"
  | "count"
  | "flag"
  | "pattern"
  | "names"
  | "names-map"
  | "reference";

export const keywordForms = {
  $ref: "reference",
  $defs: "schema-map",
  // A keyword of earlier drafts, which the parser reads because references may still point into it.
  definitions: "schema-map",
  type: "types",
  enum: "values",
  const: "any",
  allOf: "schemas",
  anyOf: "schemas",
  oneOf: "schemas",
  not: "schema",
  if: "schema",
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: "schema",
  else: "schema",
  minimum: "number",
  maximum: "number",
  exclusiveMinimum: "number",
  exclusiveMaximum: "number",
  multipleOf: "positive",
  minLength: "count",
  maxLength: "count",
  pattern: "pattern",
  prefixItems: "schemas",
  items: "schema",
  contains: "schema",
  minContains: "count",
  maxContains: "count",
  minItems: "count",
  maxItems: "count",
  uniqueItems: "flag",
  properties: "schema-map",
  patternProperties: "pattern-map",
  additionalProperties: "schema",
  propertyNames: "schema",
  required: "names",
  minProperties: "count",
  maxProperties: "count",
  dependentRequired: "names-map",
  dependentSchemas: "schema-map",
} as const satisfies Readonly<Record<string, KeywordForm>>;

export type Keyword = keyof typeof keywordForms;

/** Keywords that Hone refuses, because it does not enforce their constraints. Each has a suggested alternative. */
export const unservedKeywords: Readonly<Record<string, string>> = {
  unevaluatedProperties: "write additionalProperties where the properties are named",
  unevaluatedItems: "write items where the items are named",
  $dynamicRef: "write $ref",
  $recursiveRef: "write $ref",
  additionalItems: "write prefixItems, and items for the rest",
  dependencies: "write dependentRequired or dependentSchemas",
};

export function isKeyword(name: string): name is Keyword {
  return Object.hasOwn(keywordForms, name);
}
