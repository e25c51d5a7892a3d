// Tests that answers are parsed in every call format, regardless of how their text is split.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { readReply } from "../testing/read-reply.ts";
import { callFormats } from "../tools/call-formats.ts";
import type { ThoughtStart } from "./read-thought.ts";
import { searching } from "../../../base/domain/testing/search.ts";

type FormatName = keyof typeof callFormats;

interface Expected {
  readonly text?: string;
  readonly reasoning?: string;
  /** Expected calls, each as `name arguments`. */
  readonly calls?: readonly string[];
}

interface Reading extends Expected {
  readonly from: string;
  readonly format?: FormatName;
  readonly thought?: ThoughtStart;
  readonly areParallel?: boolean;
}

const names = ["f", "g"];

function check({ from, format, thought = "none", areParallel = true, ...expected }: Reading): void {
  const whole = read([from]);
  const { text = "", reasoning = "", calls = [] } = expected;
  assert.deepEqual(whole, { text, reasoning, calls });
  assert.deepEqual(read(from.split("")), whole, "character by character");
  fc.assert(
    fc.property(fc.array(fc.nat(from.length), { maxLength: 4 }), (cuts) => {
      assert.deepEqual(read(pieces(from, cuts)), whole);
    }),
    searching(30),
  );

  function read(texts: readonly string[]): Required<Expected> {
    const formatRead = format === undefined ? null : callFormats[format];
    const reply = readReply(formatRead, texts, { thought, names, areParallel });
    const toolCalls = reply.toolCalls.map(({ name, argumentsText }) => `${name} ${argumentsText}`);
    return { text: reply.text, reasoning: reply.reasoning, calls: toolCalls };
  }
}

function pieces(text: string, cuts: readonly number[]): readonly string[] {
  const places = [0, ...cuts.toSorted((one, other) => one - other), text.length];
  return places.slice(1).map((end, index) => text.slice(places[index], end));
}

const tagged = (body: string): string => `<tool_call>\n${body}\n</tool_call>`;
const callF = '{"name": "f", "arguments": {"a": [1, "}"]}}';
const callG = '{"name": "g", "arguments": {}}';
const f = 'f {"a": [1, "}"]}';
const g = "g {}";

const hermesTable: readonly Omit<Reading, "format">[] = [
  { from: "", text: "" },
  { from: " a <tool_ca b ", text: " a <tool_ca b " },
  { from: tagged(callF), calls: [f] },
  { from: `${tagged(callF)}\n${tagged(callG)}\n`, calls: [f, g] },
  { from: `<tool_call>${callF}</tool_call>${tagged(callG)}`, calls: [f, g] },
  { from: `Let me see.\n\n${tagged(callF)}`, text: "Let me see.", calls: [f] },
  { from: `A ${tagged(callF)}\nB\n${tagged(callG)}`, text: "A\nB", calls: [f, g] },
  { from: tagged('{"arguments": {"b": 1}, "name": "f"}'), calls: ['f {"b": 1}'] },
  { from: tagged('{"id": "1", "name": "unknown", "arguments": {}, "type": "x"}'), calls: ["unknown {}"] },
  { from: tagged('{"name": "\\u0066", "arguments": {"x":"\\"}\\u00e9"}}'), calls: ['f {"x":"\\"}\\u00e9"}'] },
  // Text that begins like a call but does not become one must stay unchanged.
  ...[
    "{",
    "[]",
    "Hello",
    '{"name": "f"}',
    '{"name": 1, "arguments": {}}',
    '{"name": "f", "arguments": "[]"}',
    '{"name": "f", "arguments": "oops"}',
    '{"name": "f", "arguments": null}',
  ].map((body) => ({ from: `a ${tagged(body)} b`, text: `a ${tagged(body)} b` })),
  // Small models write arguments as a JSON string, and several calls as a list.
  { from: tagged('{"name": "f", "arguments": "{\\"a\\": \\"b\\"}"}'), calls: ['f {"a": "b"}'] },
  {
    from: tagged('{"arguments": "{\\"n\\":12345678901234567890}", "name": "f"}'),
    calls: ['f {"n":12345678901234567890}'],
  },
  { from: `a ${tagged(`[${callF}, ${callG}]`)} b`, text: "a b", calls: [f, g] },
  { from: tagged(`[${callF}, ${callG}]`), calls: [f], areParallel: false },
  { from: tagged("[5]"), text: tagged("[5]") },
  { from: tagged('{"name": "", "arguments": {}}'), text: tagged('{"name": "", "arguments": {}}') },
  { from: '<tool_call>\n{"name": "f", "argum', text: '<tool_call>\n{"name": "f", "argum' },
  { from: `<tool_call>${tagged(callF)}`, text: "<tool_call>", calls: [f] },
  // Once its arguments have begun, a call remains a call, even if the arguments turn out to be invalid.
  { from: '<tool_call>\n{"name": "f", "arguments": {"a": "tru', calls: ['f {"a": "tru'] },
  { from: `${tagged('{"name": "f", "arguments": {"a": oops}}')} b`, text: " b", calls: ['f {"a": oops}'] },
  { from: '<tool_call>{"name": "f", "arguments": {}', calls: ["f {}"] },
  {
    from: '<tool_call>{"name": "f", "arguments": {} oops}</tool_call>',
    text: "oops}</tool_call>",
    calls: ["f {}"],
  },
  { from: `${tagged(callF)} ${tagged(callG)}`, calls: [f], areParallel: false },
];

test("reads calls between tags, and the text around them", () => {
  for (const row of hermesTable) check({ ...row, format: "hermes" });
});

test("reads calls that make up the whole answer", () => {
  const call = '{"name": "f", "parameters": {"a": 1}}';
  const table: readonly Omit<Reading, "format">[] = [
    { from: call, calls: ['f {"a": 1}'] },
    { from: `\n<|python_tag|>${call}\n`, calls: ['f {"a": 1}'] },
    { from: `${call}; ${call};\n${call}`, calls: Array<string>(3).fill('f {"a": 1}') },
    { from: `${call}; ${call}`, calls: ['f {"a": 1}'], areParallel: false },
    { from: '{"name": "g", "arguments": {}}', calls: ["g {}"] },
    { from: `${call} and so on`, text: " and so on", calls: ['f {"a": 1}'] },
    { from: '{"name": "f", "parameters": {oops', calls: ["f {oops"] },
    // These are not calls, because they have no mark: an object within text, and an object without the name of a tool.
    ...[
      `I say ${call}`,
      '{"name": "Ada", "parameters": {}}',
      '{"answer": 42}',
      '{"name": "f"}',
      "<|python_tag|>f()",
    ].map((from) => ({ from, text: from })),
  ];
  for (const row of table) check({ ...row, format: "llama3" });
});

test("reads calls after a mark, in a list or each with its name", () => {
  const table: readonly Omit<Reading, "format">[] = [
    { from: `[TOOL_CALLS] [${callF}]`, calls: [f] },
    { from: `So:[TOOL_CALLS][${callF}, ${callG}]`, text: "So:", calls: [f, g] },
    { from: `[TOOL_CALLS] [${callF}, ${callG}]`, calls: [f], areParallel: false },
    { from: `[TOOL_CALLS] [{"name": "f", "arguments": {}, "id": "abcdef123"}]`, calls: ["f {}"] },
    { from: `[TOOL_CALLS] [${callF}, 5]`, text: ", 5]", calls: [f] },
    { from: '[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{}', calls: ['f {"a": 1}', g] },
    { from: "[TOOL_CALLS]f[CALL_ID]abcdef123[ARGS]{}", calls: ["f {}"] },
    { from: "[TOOL_CALLS]f{}", calls: ["f {}"] },
    { from: "[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]g[ARGS]{}", calls: ["f {}"], areParallel: false },
    ...["[TOOL_CALLS] []", "[TOOL_CALLS]f", "[TOOL_CALLS] [5]", "[TOOL_CALLS]f[ARGS]5", "[TOOL_CALL"].map(
      (from) => ({
        from,
        text: from,
      }),
    ),
  ];
  for (const row of table)
    for (const format of ["mistral", "mistral-named"] as const) check({ ...row, format });
});

test("reads a thought before the answer", () => {
  const table: readonly Reading[] = [
    { from: "<think>\nHm.\n</think>\n\nYes.", thought: "possible", reasoning: "Hm.", text: "Yes." },
    { from: "\n<think>Hm\n\nso</think>Yes.\n", thought: "possible", reasoning: "Hm\n\nso", text: "Yes.\n" },
    { from: "Hm.\n</think>\n\nYes </think>", thought: "open", reasoning: "Hm.", text: "Yes </think>" },
    { from: "</think>Yes", thought: "open", text: "Yes" },
    { from: "Hm </thin\n", thought: "open", reasoning: "Hm </thin\n" },
    { from: " <thin", thought: "possible", text: " <thin" },
    { from: "Yes <think>a</think>", thought: "possible", text: "Yes <think>a</think>" },
    {
      from: `Hm.</think>\n${tagged(callF)}`,
      thought: "open",
      format: "hermes",
      reasoning: "Hm.",
      calls: [f],
    },
    { from: `Hm ${tagged(callF)}`, thought: "open", format: "hermes", reasoning: `Hm ${tagged(callF)}` },
    { from: tagged(callF), thought: "possible", format: "hermes", calls: [f] },
  ];
  for (const row of table) check(row);
});

test("loses no character of an answer except marks and layout", () => {
  const words = fc.constantFrom(
    "<tool_call>",
    "</tool_call>",
    callF,
    "{",
    '"name"',
    ":",
    " ",
    "\n",
    "a",
    "</think>",
    "[TOOL_CALLS]",
  );
  fc.assert(
    fc.property(
      fc.array(words),
      fc.constantFrom(...(Object.keys(callFormats) as FormatName[])),
      (parts, format) => {
        const from = parts.join("");
        const { text, toolCalls } = readReply(callFormats[format], parts, { names });
        if (toolCalls.length === 0) assert.equal(text, from);
        // A call without arguments gets `{}`, which does not occur in the text.
        const isWithin = (part: string): boolean => part === "{}" || from.includes(part);
        assert.ok(toolCalls.every(({ argumentsText }) => isWithin(argumentsText)));
      },
    ),
    searching(500),
  );
});

test("sends a call's opening in a separate delta, and then its arguments as they arrive, one delta per piece", () => {
  const { pieces: read } = readReply(callFormats.hermes, tagged(callF).split(""));
  const deltas = read.flatMap(({ toolCalls }) => toolCalls);
  assert.deepEqual({ ...deltas[0], id: "" }, { index: 0, id: "", name: "f", argumentsText: "" });
  assert.match(deltas[0].id ?? "", /^chatcmpl-tool-[0-9a-f]{32}$/);
  assert.ok(
    deltas.length > 10 && deltas.slice(1).every(({ id, name }) => id === undefined && name === undefined),
  );
  const { pieces: two } = readReply(callFormats.hermes, [tagged(callF) + tagged(callG), "", "", ""]);
  for (const { toolCalls } of two)
    assert.equal(new Set(toolCalls.map(({ index }) => index)).size, toolCalls.length);
  assert.deepEqual({ ...two[0].toolCalls[0], id: "" }, { index: 0, id: "", name: "f", argumentsText: "" });
});

test("makes unique ids in the form that templates of Mistral models require", () => {
  const { toolCalls } = readReply(callFormats.mistral, [`[TOOL_CALLS] [${callF}, ${callG}]`]);
  const ids = toolCalls.map(({ id }) => id);
  assert.ok(ids.every((id) => /^[0-9a-z]{9}$/.test(id)));
  assert.equal(new Set(ids).size, 2);
});

test("completes an answer after its only allowed call, and otherwise never", () => {
  const one = readReply(callFormats.hermes, [tagged(callF), "more"], { areParallel: false });
  assert.deepEqual([one.isComplete, one.text], [true, ""]);
  assert.equal(readReply(callFormats.hermes, [tagged(callF), "more"]).isComplete, false);
});
