// Tests that each built-in format reads the calls that it writes, whether they arrive whole or in pieces. Calls that
// its constraint allows must match the tools' schemas when they are read.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";
import { readLanguage } from "../../../../lib/constraints/grammar/language.ts";
import { accepts } from "../../../../lib/constraints/grammar/testing/accepts.ts";
import { defaultGrammarLimits } from "../../../../lib/constraints/regex/limits.ts";
import { readReply } from "../../testing/read-reply.ts";
import type { CallableTool, CallFormat } from "../call-format.ts";
import { callFormats } from "../call-formats.ts";
import { searching } from "../../../../base/domain/testing/search.ts";

const formats = Object.values(callFormats);
const inTags = formats.filter((format) => format.marks.some((mark) => mark.includes("parameter=")));

type Calls = readonly (readonly [name: string, values: unknown])[];

/**
 * Returns the calls that a format reads in a text. Checks that the result does not change if the text is split into
 * characters.
 */
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

/** Random texts that contain no end mark of any format. */
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
  test(`${format.name}: reads back each call that it writes`, () => {
    fc.assert(
      fc.property(fc.constantFrom("f", "get_weather", "a-b.c"), values, (name, given) => {
        // Converts the arguments to plain JSON values.
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

  test(`${format.name}: allows only required calls, which match the schemas`, () => {
    const required = language(format.calls(tools, true));
    for (const text of right) assert.ok(accepts(required, text), text);
    for (const text of [...wrong, "", "text", `${right[0]} text`, `text ${right[0]}`])
      assert.ok(!accepts(required, text), text);
  });

  test(`${format.name}: allows text next to calls, which match the schemas`, () => {
    const free = language(format.textWithCalls(tools, true));
    for (const text of ["", "text", "1 < 2", ...right]) assert.ok(accepts(free, text), text);
    for (const text of wrong) assert.ok(!accepts(free, text), text);
  });
}

for (const format of formats)
  test(`${format.name}: constrains a tool's text to its grammar, as read back`, () => {
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

/** Returns the schema of a tool with the single parameter `p`. */
function taking(schema: Json, required = true, more: JsonObject = {}): JsonObject {
  return { type: "object", properties: { p: schema }, ...(required ? { required: ["p"] } : {}), ...more };
}

test("reads texts between tags verbatim and other values as JSON, according to the schema", () => {
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

test("accepts common mistakes of models and reads what was meant", () => {
  const schema = { type: "object", properties: { n: { type: "integer" }, ok: { type: "boolean" } } };
  const functions = new Map<string, JsonObject | null>([
    ["f", schema],
    ["now", null],
  ]);
  const qwen = callFormats["qwen-coder"];
  // The text has Python's literals, and lacks blanks and the outer tag.
  assert.deepEqual(
    calls(
      qwen,
      "<function=f><parameter=ok>True</parameter><parameter=n> 3 </parameter></function>",
      functions,
    ),
    [["f", { ok: true, n: 3 }]],
  );
  // The parameter has no schema, and its number exceeds the precision of a double.
  const { toolCalls } = readReply(
    qwen,
    ["<tool_call><function=h><parameter=a>12345678901234567890</parameter></function></tool_call>"],
    { functions },
  );
  assert.equal(toolCalls[0]?.argumentsText, '{"a": 12345678901234567890}');
  // These calls have no arguments, because the functions have no parameters.
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
  // A constraint never produces a list without its mark. In a constrained answer, such a list is therefore text.
  assert.equal(readReply(callFormats.mistral, [list], { functions, isConstrained: true }).text, list);
  for (const text of ["<tool_call>Hello</tool_call>", "<tool_call>now and then</tool_call>"])
    assert.equal(readReply(callFormats.glm, [text], { functions }).text, text);
});

test("ends a parameter without an end mark at the next parameter or at the end of the call", () => {
  const properties = { a: { type: "string" }, b: { type: "string" }, n: { type: "integer" } };
  const functions = new Map([["f", { type: "object", properties }]]);
  const qwen = callFormats["qwen-coder"];
  const call = (inner: string): string => `<tool_call>\n<function=f>\n${inner}</function>\n</tool_call>`;
  const table: readonly (readonly [inner: string, read: object])[] = [
    ["<parameter=a>\nx\n<parameter=b>\ny\n</parameter>\n", { a: "x", b: "y" }],
    ["<parameter=a>\nx\n<parameter=b>\ny\n", { a: "x", b: "y" }],
    ["<parameter=n>\n3\n<parameter=a>\ny\n", { n: 3, a: "y" }],
    ["<parameter=a>\nx\n\n<parameter=n> 4 ", { a: "x\n", n: 4 }],
    // Text that only resembles a mark belongs to the value.
    ["<parameter=a>\nx <parameter=c> y\n</parameter>\n", { a: "x <parameter=c> y" }],
    ["<parameter=a>\n<parameter=a>\n</parameter>\n", { a: "<parameter=a>" }],
    ["<parameter=a>\n</function> ends it\n</parameter>\n", { a: "</function> ends it" }],
    ["<parameter=a>\n<parameter\n</parameter>\n", { a: "<parameter" }],
  ];
  for (const [inner, read] of table)
    assert.deepEqual(calls(qwen, call(inner), functions), [["f", read]], inner);
  const bare = "<function=f><parameter=a>x<parameter=n>1</function>";
  assert.deepEqual(calls(qwen, bare, functions), [["f", { a: "x", n: 1 }]]);
  const minimax = (inner: string): string =>
    `<minimax:tool_call>\n<invoke name="f">\n${inner}</invoke>\n</minimax:tool_call>`;
  assert.deepEqual(
    calls(
      callFormats.minimax,
      minimax('<parameter name="a">x\n<parameter name="n">2</parameter>\n'),
      functions,
    ),
    [["f", { a: "x", n: 2 }]],
  );
  const glm =
    "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x\n<arg_key>n</arg_key>\n<arg_value>2</arg_value>\n</tool_call>";
  assert.deepEqual(calls(callFormats.glm, glm, functions), [["f", { a: "x", n: 2 }]]);
  // A constrained call always has its end marks, so text that resembles another parameter belongs to the value.
  const text = call("<parameter=a>\nx\n<parameter=b>\ny\n</parameter>\n");
  const { toolCalls } = readReply(qwen, [text], { functions, isConstrained: true });
  assert.deepEqual(JSON.parse(toolCalls[0].argumentsText), { a: "x\n<parameter=b>\ny" });
});

test("converts a value between tags to the type that its schema accepts", () => {
  const table: readonly (readonly [schema: Json, written: string, read: unknown])[] = [
    [{ type: "object" }, "{'a': 1}", { a: 1 }],
    [{ type: "object" }, "{'a': True, 'b': [None, 'it\\'s'], }", { a: true, b: [null, "it's"] }],
    [{ type: "array" }, "('x', 'y')", ["x", "y"]],
    [{}, "{'a': 1}", { a: 1 }],
    [{ type: "string" }, "{'a': 1}", "{'a': 1}"],
    [{ type: "object" }, "{'a': oops}", "{'a': oops}"],
    [{ enum: ["a", "1", 2] }, "1", "1"],
    [{ enum: ["a", "1", 2] }, "2", 2],
    [{ enum: ["a", "1", 2] }, '"1"', "1"],
    [{ enum: ["a", "1", 2] }, "3", 3],
    [{ type: ["string", "boolean"] }, "5", "5"],
    [{ type: ["string", "boolean"] }, "true", true],
    [{ anyOf: [{ type: "string" }, { type: "object" }] }, "12", "12"],
    [{ type: "string", pattern: "^[0-9]+$" }, "12", "12"],
    [{ type: "string", nullable: true }, "null", null],
    [{ type: "string", nullable: true }, "None", null],
    [{ type: "string", nullable: true }, "nullable", "nullable"],
    [{ type: "string" }, "null", "null"],
    [{ type: "integer", nullable: true }, "null", null],
    [{ enum: ["a", "b"], nullable: true }, "null", null],
    [{ const: "7" }, "7", "7"],
  ];
  for (const [schema, written, read] of table) {
    const text = `<tool_call>\n<function=f>\n<parameter=p>\n${written}\n</parameter>\n</function>\n</tool_call>`;
    const functions = new Map([["f", taking(schema)]]);
    assert.deepEqual(
      calls(callFormats["qwen-coder"], text, functions),
      [["f", { p: read }]],
      `${JSON.stringify(schema)} ${written}`,
    );
  }
});

/**
 * Returns the arguments that are emitted for the one call in a text. Checks that the result does not change if the text
 * is split.
 */
function argumentsOf(format: CallFormat, text: string): string {
  const read = (texts: readonly string[]): string => {
    const { toolCalls } = readReply(format, texts, { names: ["f"] });
    assert.equal(toolCalls.length, 1, text);
    return toolCalls[0].argumentsText;
  };
  const whole = read([text]);
  assert.equal(read(text.split("")), whole);
  return whole;
}

test("passes on invalid JSON arguments up to the end of the call, and repairs Python's notation", () => {
  const hermes = (text: string): string => `<tool_call>\n{"name": "f", "arguments": ${text}}\n</tool_call>`;
  const table: readonly (readonly [CallFormat, string, string])[] = [
    [callFormats.hermes, hermes('{"a": tru}'), '{"a": tru}'],
    [callFormats.hermes, hermes('{"a": {"b": tru}}'), '{"a": {"b": tru}}'],
    [callFormats.hermes, hermes("{'a': 1}"), '{"a": 1}'],
    [callFormats.hermes, hermes('{"a": True, "b": None}'), '{"a": true, "b": null}'],
    [callFormats.hermes, hermes('{"a": "one\ntwo\tthree"}'), '{"a": "one\\ntwo\\tthree"}'],
    [
      callFormats.hermes,
      hermes('{"a": "one\r\ntwo", "b": 12345678901234567890}'),
      '{"a": "one\\r\\ntwo", "b": 12345678901234567890}',
    ],
    [
      callFormats.hermes,
      '<tool_call>{"arguments": {"a": "x\ny"}, "name": "f"}</tool_call>',
      '{"a": "x\\ny"}',
    ],
    [callFormats.hermes, '<tool_call>{"name": "f", "arguments": {"a": tru}</tool_call>', '{"a": tru}'],
    [callFormats.hermes, '<tool_call>{"name": "f", "arguments": {"a": tr', '{"a": tr'],
    [callFormats.mistral, '[TOOL_CALLS] [{"name": "f", "arguments": {"a": tru}}]', '{"a": tru}'],
    [callFormats.granite, '<|tool_call|>[{"name": "f", "arguments": {"a": tru}}]', '{"a": tru}'],
    [callFormats.nemotron, '<TOOLCALL>[{"name": "f", "arguments": {"a": tru}}]</TOOLCALL>', '{"a": tru}'],
    [callFormats.apertus, '<|tools_prefix|>[{"f": {"a": tru}}]<|tools_suffix|>', '{"a": tru}'],
    [callFormats.functionary, '<function=f>{"a": tru}</function>', '{"a": tru}'],
    [callFormats.deepseek, callFormats.deepseek.written("f", { a: 1 }).replace("1", "tru"), '{"a": tru}'],
    [callFormats.llama3, '{"name": "f", "parameters": {"a": tru}}', '{"a": tru}'],
  ];
  for (const [format, text, read] of table) assert.equal(argumentsOf(format, text), read, text);
});

test("reads calls in Python's notation, with literals, quotes and nested values", () => {
  const marked = (inner: string): string => `<|tool_call_start|>[${inner}]<|tool_call_end|>`;
  const table: readonly (readonly [text: string, read: object])[] = [
    [marked('f(a="Rome")'), { a: "Rome" }],
    [marked("f(a='Rome', b=3, c=True, d=None)"), { a: "Rome", b: 3, c: true, d: null }],
    [marked("f()"), {}],
    [marked("f( a = 1.50 , b = -2e3 )"), { a: 1.5, b: -2000 }],
    [marked("f(a=['x', 'y'], b={'k': (1, 2)})"), { a: ["x", "y"], b: { k: [1, 2] } }],
    [marked("f(a='it's', b=1)"), { a: "it's", b: 1 }],
    [marked("f(a='he said \"no\" (twice)')"), { a: 'he said "no" (twice)' }],
    [marked('f(a="x) y", b="[")'), { a: "x) y", b: "[" }],
    [marked("f(a='l1\nl2', b='l1\\nl2')"), { a: "l1\nl2", b: "l1\nl2" }],
    [marked('f(a="\\u00e9\\x41")'), { a: "éA" }],
    [marked('{"name": "f", "arguments": {"a": 1}}'), { a: 1 }],
    ["<|tool_call_start|>f(a=1)<|tool_call_end|>", { a: 1 }],
    ["[f(a=1)]", { a: 1 }],
  ];
  const functions = new Map([["f", { type: "object" }]]);
  for (const [text, read] of table)
    assert.deepEqual(calls(callFormats.pythonic, text, functions), [["f", read]], text);
  assert.deepEqual(calls(callFormats.pythonic, marked("f(a=1), f(a=2)"), functions), [
    ["f", { a: 1 }],
    ["f", { a: 2 }],
  ]);
  assert.equal(argumentsOf(callFormats.pythonic, marked("f(a=oops!)")), "a=oops!");
  assert.equal(argumentsOf(callFormats.pythonic, '<|tool_call_start|>[f(a="Ro'), 'a="Ro');
  const said = "[f(a=1) is a call]";
  assert.equal(readReply(callFormats.pythonic, ["[g(a=1)]"], { functions }).text, "[g(a=1)]");
  assert.equal(readReply(callFormats.pythonic, [said], { functions }).toolCalls.length, 1);
});

test("constrains Python's keyword arguments to the schema, which may have optional ones", () => {
  const schema = {
    type: "object",
    properties: {
      a: { type: "integer" },
      b: { type: "boolean" },
      c: { type: ["string", "null"] },
      d: { enum: ["x", "y"] },
    },
    required: ["b"],
    additionalProperties: false,
  };
  const held = language(callFormats.pythonic.calls([{ name: "f", schema }], false));
  const call = (inner: string): string => `<|tool_call_start|>[f(${inner})]<|tool_call_end|>`;
  for (const inner of [
    "b=True",
    "a=1, b=False",
    'b=True, c="x"',
    "b=True, c=None",
    'a=1, b=True, c="x", d="y"',
  ])
    assert.ok(accepts(held, call(inner)), inner);
  for (const inner of [
    "",
    "a=1",
    "b=1",
    "b=True, a=1",
    "b=True,",
    ", b=True",
    'b=True, d="z"',
    "b=True, e=1",
  ])
    assert.ok(!accepts(held, call(inner)), inner);
});

test("leaves the arguments' object open if the answer is truncated within it", () => {
  const read = (text: string): string | undefined =>
    readReply(callFormats["qwen-coder"], [text], { names: ["f"] }).toolCalls[0]?.argumentsText;
  assert.equal(read("<tool_call>\n<function=f>\n<parameter=b>\nRo"), '{"b": Ro');
  assert.equal(read("<tool_call>\n<function=f>\n<parameter=b>\n1\n</parameter>\n"), '{"b": 1');
});

test("emits a text parameter as it arrives", () => {
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

test("refuses a schema that a notation cannot enforce, naming the keyword", () => {
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
