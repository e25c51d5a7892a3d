// The keywords of JSON Schema 2020-12 by what they take, which is all that reading a schema needs to know of them. What each
// of them asks of a value is in value-rules.ts. Other keywords are annotations, as the standard has it, and ask for nothing.

/** What a keyword takes. */
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
  // Of earlier drafts; references still lead there.
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

/** Keywords that ask for something that is not checked here, each with what to write instead: they are refused. */
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
