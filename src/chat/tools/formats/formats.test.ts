// Every known format: what it writes it reads back, whole and in pieces, and what its constraint lets be written keeps the
// tools' schemas as it is read.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Json, JsonObject } from "../../../domain/trajectory.ts";
import { readLanguage } from "../../../grammar/language.ts";
import { accepts } from "../../../grammar/testing/accepts.ts";
import { defaultGrammarLimits } from "../../../regex/limits.ts";
import { readReply } from "../../testing/read-reply.ts";
import type { CallableTool, CallFormat } from "../call-format.ts";
import { callFormats } from "../call-formats.ts";
import { searching } from "../../../domain/testing/search.ts";

const formats = Object.values(callFormats);
const inTags = formats.filter((format) => format.marks.some((mark) => mark.includes("parameter=")));

type Calls = readonly (readonly [name: string, values: unknown])[];

/** The calls that a format reads, in pieces of one character too. */
function calls(format: CallFormat, text: string, functions: ReadonlyMap<string, JsonObject | null>): Calls {
  const read = (texts: readonly string[]): Calls => {
    const { toolCalls, text: said } = readReply(format, texts, { functions });
    assert.equal(said, "", `${format.name}: ${text}`);
    return toolCalls.map(({ name, argumentsText }) => [name, JSON.parse(argumentsText) as unknown]);
  };
  const whole = read([text]);
  assert.deepEqual(read(text.split("")), whole);
  return whole;
}

/** Texts without what ends them in some format. */
const word = fc.stringMatching(/^[A-Za-zé\n ."'{}:,\\-]{0,12}$/);
const values = fc.dictionary(
  fc.stringMatching(/^[a-z_]{1,8}$/),
  fc.oneof(
    word,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.integer()),
    fc.record({ k: word }),
  ),
  { maxKeys: 4 },
);

function schemaOf(value: Json): JsonObject {
  const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  return { type };
}

for (const format of formats)
  test(`${format.name}: what is written as a call is read back as it`, () => {
    fc.assert(
      fc.property(fc.constantFrom("f", "get_weather", "a-b.c"), values, (name, given) => {
        // As JSON has them.
        const sent = JSON.parse(JSON.stringify(given)) as JsonObject;
        const properties = Object.fromEntries(
          Object.entries(sent).map(([key, value]) => [key, schemaOf(value)]),
        );
        const functions = new Map([[name, { type: "object", properties }]]);
        assert.deepEqual(calls(format, format.written(name, sent), functions), [[name, sent]]);
      }),
      searching(50),
    );
  });

const tools: readonly CallableTool[] = [
  {
    name: "f",
    schema: {
      type: "object",
      properties: { x: { type: "integer" }, unit: { enum: ["c", "f"] } },
      required: ["x"],
      additionalProperties: false,
    },
  },
  { name: "g", schema: { type: "object" } },
];

function language(format: Json): ReturnType<typeof readLanguage> {
  const constraint = {
    kind: "structural-tag",
    tag: JSON.stringify({ type: "structural_tag", format }),
    allowsAnyWhitespace: true,
    whitespacePattern: " ?",
    allowsAdditionalProperties: true,
  } as const;
  return readLanguage(constraint, defaultGrammarLimits);
}

for (const format of formats) {
  const right = [
    format.written("f", { x: 1 }),
    format.written("f", { x: -20, unit: "c" }),
    format.written("g", {}),
    format.written("g", { any: "thing" }),
  ];
  const wrong = [
    format.written("f", {}),
    format.written("f", { x: "a" }),
    format.written("f", { x: 1, unit: "k" }),
    format.written("f", { x: 1, y: 2 }),
    format.written("h", { x: 1 }),
  ];

  test(`${format.name}: required calls keep the schemas, and are all that there is`, () => {
    const required = language(format.calls(tools, true));
    for (const text of right) assert.ok(accepts(required, text), text);
    for (const text of [...wrong, "", "text", `${right[0]} text`, `text ${right[0]}`])
      assert.ok(!accepts(required, text), text);
  });

  test(`${format.name}: text may stand beside calls, and calls in it keep the schemas`, () => {
    const free = language(format.textWithCalls(tools, true));
    for (const text of ["", "text", "1 < 2", ...right]) assert.ok(accepts(free, text), text);
    for (const text of wrong) assert.ok(!accepts(free, text), text);
  });
}

for (const format of formats)
  test(`${format.name}: a text that a tool takes is held to its grammar, as it is read`, () => {
    const schema = { type: "object", properties: { input: { type: "string" } }, required: ["input"] };
    const lark = 'start: line+\nline: "+" /[a-z"]+/ "\\n"';
    for (const textRule of [
      { kind: "grammar", text: lark } as const,
      { kind: "regex", pattern: '(\\+[a-z"]+\\n)+' } as const,
    ]) {
      const held = language(format.calls([{ name: "patch", schema, textRule }], true));
      for (const input of ["+a\n", '+a"b\n+c\n']) {
        const written = format.written("patch", { input });
        assert.ok(accepts(held, written), written);
        assert.deepEqual(calls(format, written, new Map([["patch", schema]])), [["patch", { input }]]);
      }
      for (const input of ["", "-a\n", "+a"])
        assert.ok(!accepts(held, format.written("patch", { input })), input);
    }
  });

/** A tool with one parameter. */
function taking(schema: Json, required = true, more: JsonObject = {}): JsonObject {
  return { type: "object", properties: { p: schema }, ...(required ? { required: ["p"] } : {}), ...more };
}

test("between tags, texts stand as they are and all else is JSON, as the schema has it", () => {
  assert.ok(inTags.length > 0);
  const $defs = { unit: { type: "string", enum: ["c", "f"] } };
  const table: readonly (readonly [schema: JsonObject, written: string, read: unknown])[] = [
    [taking({ type: "string" }), "5", "5"],
    [taking({ type: "string" }), '"quoted"\nand\n', '"quoted"\nand\n'],
    [taking({ type: "string" }), "", ""],
    [taking({ type: "integer" }), "5", 5],
    [taking({ type: "array", items: { type: "integer" } }), "[1, 2]", [1, 2]],
    [taking({ anyOf: [{ type: "string" }, { type: "null" }] }), "null", null],
    [taking({ type: ["string", "null"] }), "5", "5"],
    [taking({ type: ["string", "integer"] }), '"5"', "5"],
    [taking({ type: ["string", "integer"] }), "5", 5],
    [taking({ type: "string", pattern: "^a+$" }), '"aaa"', "aaa"],
    [taking({ $ref: "#/$defs/unit" }, true, { $defs }), "c", "c"],
    [taking({ type: "boolean" }), "true", true],
    [taking({}), '{"a": [1]}', { a: [1] }],
  ];
  for (const format of [callFormats["qwen-coder"]])
    for (const [schema, written, read] of table) {
      const text = `<tool_call>\n<function=f>\n<parameter=p>\n${written}\n</parameter>\n</function>\n</tool_call>`;
      assert.deepEqual(calls(format, text, new Map([["f", schema]])), [["f", { p: read }]]);
      assert.ok(accepts(language(format.calls([{ name: "f", schema }], true)), text), text);
    }
  const refused: readonly (readonly [schema: JsonObject, written: string])[] = [
    [taking({ type: "integer" }), "five"],
    [taking({ type: "string", pattern: "^a+$" }), "aaa"],
    [taking({ $ref: "#/$defs/unit" }, true, { $defs }), "k"],
    [taking({ type: "string" }), "a </parameter> b"],
    [taking({ type: ["string", "integer"] }), "five"],
  ];
  for (const [schema, written] of refused) {
    const text = `<tool_call>\n<function=f>\n<parameter=p>\n${written}\n</parameter>\n</function>\n</tool_call>`;
    assert.ok(!accepts(language(callFormats["qwen-coder"].calls([{ name: "f", schema }], true)), text), text);
  }
});

test("what models write otherwise than they should is read as it was meant", () => {
  const schema = { type: "object", properties: { n: { type: "integer" }, ok: { type: "boolean" } } };
  const functions = new Map<string, JsonObject | null>([
    ["f", schema],
    ["now", null],
  ]);
  const qwen = callFormats["qwen-coder"];
  // The literals of Python, blanks left out, and the outer tag too.
  assert.deepEqual(
    calls(
      qwen,
      "<function=f><parameter=ok>True</parameter><parameter=n> 3 </parameter></function>",
      functions,
    ),
    [["f", { ok: true, n: 3 }]],
  );
  // A parameter that no schema has, and a number that a double would not keep.
  const { toolCalls } = readReply(
    qwen,
    ["<tool_call><function=h><parameter=a>12345678901234567890</parameter></function></tool_call>"],
    { functions },
  );
  assert.equal(toolCalls[0]?.argumentsText, '{"a": 12345678901234567890}');
  // Calls of functions that take nothing.
  assert.deepEqual(calls(callFormats.hermes, '<tool_call>{"name": "now"}</tool_call>', functions), [
    ["now", {}],
  ]);
  assert.deepEqual(
    calls(callFormats.hermes, '<tool_call>{"name": "now", "arguments": null}</tool_call>', functions),
    [["now", {}]],
  );
  assert.deepEqual(calls(callFormats.glm, "<tool_call>now</tool_call>", functions), [["now", {}]]);
  const list = '[{"name": "f", "arguments": {"n": 1}}, {"name": "now", "arguments": {}}]';
  assert.deepEqual(calls(callFormats.mistral, list, functions), [
    ["f", { n: 1 }],
    ["now", {}],
  ]);
  // Held to a form, a list without its mark is none of the calls that the form allows.
  assert.equal(readReply(callFormats.mistral, [list], { functions, isHeld: true }).text, list);
  for (const text of ["<tool_call>Hello</tool_call>", "<tool_call>now and then</tool_call>"])
    assert.equal(readReply(callFormats.glm, [text], { functions }).text, text);
});

test("a call that is cut among its parameters is left open, as the model left it", () => {
  const read = (text: string): string | undefined =>
    readReply(callFormats["qwen-coder"], [text], { names: ["f"] }).toolCalls[0]?.argumentsText;
  assert.equal(read("<tool_call>\n<function=f>\n<parameter=b>\nRo"), '{"b": Ro');
  assert.equal(read("<tool_call>\n<function=f>\n<parameter=b>\n1\n</parameter>\n"), '{"b": 1');
});

test("a text grows as it comes", () => {
  const functions = new Map([["f", { type: "object", properties: { p: { type: "string" } } }]]);
  const { pieces } = readReply(
    callFormats["qwen-coder"],
    [
      "<tool_call><function=f><parameter=p>\n",
      "Rome",
      ' "and',
      "\nmore",
      "\n</parameter></function></tool_call>",
    ],
    { functions },
  );
  const grown = pieces.map(({ toolCalls }) => toolCalls.map(({ argumentsText }) => argumentsText).join(""));
  assert.deepEqual(grown.slice(1, 5), ['{"p": "Rome', ' \\"and', "\\nmore", '"}']);
});

test("what a notation cannot be held to is refused by its keyword", () => {
  const refused = (format: CallFormat, schema: JsonObject): string | null =>
    format.refusal({ type: "object", ...schema })?.keyword ?? null;
  const qwen = callFormats["qwen-coder"];
  assert.equal(refused(qwen, { properties: { p: { type: "string", pattern: "a" } } }), null);
  assert.equal(refused(qwen, { minProperties: 1 }), "minProperties");
  assert.equal(refused(qwen, { additionalProperties: { type: "integer" } }), "additionalProperties");
  const { gemma } = callFormats;
  assert.equal(refused(gemma, { properties: { p: { type: "integer", minimum: 1 } } }), null);
  assert.equal(refused(gemma, { properties: { p: { items: { pattern: "a" } } } }), "pattern");
  assert.equal(refused(callFormats.hermes, { minProperties: 1 }), null);
});
