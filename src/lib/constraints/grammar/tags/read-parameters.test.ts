// Tests parameters between tags: texts are written verbatim, all other values as JSON, in the schema's order.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "../../../../base/domain/text/json.ts";
import { defaultGrammarLimits } from "../../regex/limits.ts";
import { checkRefusal } from "../../regex/testing/check-refusal.ts";
import { readLanguage } from "../language.ts";
import { accepts } from "../testing/accepts.ts";
import { structuralTag } from "../testing/make-constraints.ts";

const read = (format: Json) =>
  readLanguage(structuralTag({ type: "structural_tag", format }), defaultGrammarLimits);

const person = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name", "age"],
};

test("accepts what XGrammar accepts for qwen_xml_parameter", () => {
  const formats: readonly Json[] = [
    { type: "qwen_xml_parameter", json_schema: person },
    { type: "json_schema", style: "qwen_xml", json_schema: person },
  ];
  for (const format of formats) {
    const language = read({ type: "tag", begin: "<function=f>", content: format, end: "</function>" });
    const whole = (text: string): string => `<function=f>${text}</function>`;
    for (const text of [
      "<parameter=name>Bob</parameter><parameter=age>\t100\n</parameter>",
      "<parameter=name>Bob</parameter>\t\n<parameter=age>\t100\n</parameter>",
      "\n<parameter=name>\nBob\n</parameter>\n<parameter=age>\n100\n</parameter>\n",
      "<parameter=name>Bob & <b>Ann</b></parameter><parameter=age>-1</parameter>",
    ])
      assert.ok(accepts(language, whole(text)), text);
    for (const text of [
      "<parameter=name>Bob</parameter>",
      "<parameter=name>Bob</parameter><parameter=age>ten</parameter>",
      "<parameter=age>100</parameter><parameter=name>Bob</parameter>",
      "<parameter=name>Bob</parameter>and<parameter=age>100</parameter>",
      "<parameter=name>Bob</parameter><parameter=age>100</parameter><parameter=more>1</parameter>",
    ])
      assert.ok(!accepts(language, whole(text)), text);
  }
});

test("accepts enumerated texts, null, JSON with the schema's digits, and missing optional parameters", () => {
  const language = read({
    type: "qwen_xml_parameter",
    json_schema: {
      type: "object",
      properties: {
        kind: { enum: ["a", "b"] },
        code: { type: "string", pattern: "^[0-9]+$" },
        note: { type: ["string", "null"] },
        list: { type: "array", items: { $ref: "#/$defs/item" } },
      },
      $defs: { item: { const: 1.5 } },
    },
  });
  const parameter = (name: string, value: string): string => `<parameter=${name}>${value}</parameter>`;
  for (const text of [
    "",
    parameter("kind", "\na\n"),
    parameter("code", '"12"') + parameter("note", "null"),
    parameter("note", "any text") + parameter("list", "[1.5, 1.5]"),
  ])
    assert.ok(accepts(language, text), text);
  for (const text of [
    parameter("kind", "c"),
    parameter("code", "12"),
    parameter("code", '"x"'),
    parameter("list", "[2]"),
  ])
    assert.ok(!accepts(language, text), text);
});

test("refuses keywords about all parameters together, and parameters with refused schemas, naming the location", () => {
  const refused = (schema: Json, expected: Parameters<typeof checkRefusal>[1]): void =>
    checkRefusal(
      () => read({ type: "qwen_xml_parameter", json_schema: schema }),
      expected,
      JSON.stringify(schema),
    );
  refused({ ...person, minProperties: 1 }, [
    "not-exact",
    "minProperties",
    "#/format/json_schema/minProperties",
  ]);
  refused({ type: "string" }, ["malformed", "json_schema", "#/format/json_schema"]);
  refused(true, ["malformed", "json_schema", "#/format/json_schema"]);
  refused({ properties: { "a/b": { $recursiveRef: "#" } } }, [
    "not-exact",
    "$recursiveRef",
    "#/format/json_schema/properties/a~1b/$recursiveRef",
  ]);
});
