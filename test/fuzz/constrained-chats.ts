// Chats with constrained answers. They use every kind of constraint, and all supported keywords of schemas. Mutating
// them produces schemas, patterns and grammars that no person would write.

const schema = {
  $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
  type: "object",
  properties: {
    name: { type: "string", pattern: "^[a-z]+$", minLength: 1, maxLength: 5 },
    kind: { enum: ["a", "b", 3, null] },
    count: { type: "integer", minimum: 1, maximum: 99, multipleOf: 3 },
    when: { anyOf: [{ type: "string", format: "date" }, { type: "null" }] },
    parts: { type: "array", items: { type: "number" }, minItems: 1, maxItems: 2 },
    tree: { $ref: "#/$defs/node" },
  },
  required: ["name", "kind"],
  patternProperties: { "^x_": { type: "boolean" } },
  additionalProperties: false,
};

export const constrainedChats: readonly object[] = [
  { structured_outputs: { json: schema } },
  { structured_outputs: { json: JSON.stringify(schema), disable_any_whitespace: true }, n: 2 },
  { response_format: { type: "json_schema", json_schema: { name: "thing", schema, strict: true } } },
  { response_format: { type: "json_object" }, stream: true, temperature: 2 },
  { structured_outputs: { regex: "(yes|no), \\d{1,3}[a-f]*(?=x)x$" } },
  { structured_outputs: { choice: ["one", "two", "ünï"] }, seed: 5, stop: ["wo"] },
  { structured_outputs: { grammar: 'root ::= item ("," item)*\nitem ::= [0-9]+ | "(" root ")"\n' } },
];

export const schemaKeywords: readonly string[] = [
  ..."type enum const properties required additionalProperties patternProperties propertyNames".split(" "),
  ..."minProperties maxProperties items prefixItems minItems maxItems uniqueItems contains".split(" "),
  ..."minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split(
    " ",
  ),
  ..."allOf anyOf oneOf not if then else dependentRequired dependentSchemas $ref $defs $anchor $id".split(
    " ",
  ),
  ..."unevaluatedProperties unevaluatedItems nullable definitions minContains maxContains".split(" "),
];
