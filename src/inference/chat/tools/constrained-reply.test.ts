// Tests which answers a request's constraint allows, with the engine's own grammar. Covers calls in each format, text
// around them, and thoughts before them. Allowed calls must also be read as calls.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToolChoice } from "../../../base/domain/chat.ts";
import { constraintFeatures } from "../../../base/domain/generation.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import {
  choice,
  grammar,
  jsonSchema,
  regex,
  structuralTag,
} from "../../../lib/constraints/grammar/testing/make-constraints.ts";
import { readLanguage } from "../../../lib/constraints/grammar/language.ts";
import { accepts } from "../../../lib/constraints/grammar/testing/accepts.ts";
import { defaultGrammarLimits } from "../../../lib/constraints/regex/limits.ts";
import type { ThoughtStart } from "../reply/read-thought.ts";
import { chatRequest, type RequestChanges } from "../testing/chat-request.ts";
import { readReply } from "../testing/read-reply.ts";
import { callFormats } from "./call-formats.ts";
import { constrainedReply } from "./reply-plan.ts";

const formats = ["hermes", "llama3", "mistral", "mistral-named"] as const;
type FormatName = (typeof formats)[number];

interface Answers {
  readonly choice?: ToolChoice["kind"];
  readonly format?: FormatName;
  readonly thought?: ThoughtStart;
  readonly areParallel?: boolean;
  readonly isStrict?: boolean;
  readonly constraint?: RequestChanges["constraint"];
  readonly areExempt?: boolean;
  readonly allowed: readonly string[];
  readonly refused: readonly string[];
}

const features = new Set(constraintFeatures);
const parameters = { properties: { x: { type: "integer" } }, required: ["x"], additionalProperties: false };

function check(answers: Answers): void {
  const {
    format,
    thought = "none",
    areParallel = true,
    isStrict = false,
    constraint,
    areExempt = false,
  } = answers;
  const tools: readonly JsonObject[] = [
    { type: "function", function: { name: "f", parameters, strict: isStrict } },
    { type: "function", function: { name: "g" } },
  ];
  const kind = answers.choice ?? "none";
  const toolChoice: ToolChoice = kind === "named" ? { kind, name: "f" } : { kind };
  const request = chatRequest({
    prompt: { tools },
    ...(constraint === undefined ? {} : { constraint }),
    calls: { choice: toolChoice, areParallel, areExempt },
  });
  const calls = format === undefined ? null : { format: callFormats[format], areParallel };
  const made = constrainedReply(request, toolChoice, { thought, calls, features });
  assert.ok(made !== null);
  const language = readLanguage(made, defaultGrammarLimits);
  for (const text of answers.allowed) assert.ok(accepts(language, text), `${format}: ${text}`);
  for (const text of answers.refused) assert.ok(!accepts(language, text), `${format}: not ${text}`);
}

/** For each format, a function that writes a call of f or g. */
const written: { readonly [Name in FormatName]: (name: string, argumentsText: string) => string } = {
  hermes: (name, text) => `<tool_call>\n{"name": "${name}", "arguments": ${text}}\n</tool_call>`,
  llama3: (name, text) => `{"name": "${name}", "parameters": ${text}}`,
  mistral: (name, text) => `[TOOL_CALLS] [{"name": "${name}", "arguments": ${text}}]`,
  "mistral-named": (name, text) => `[TOOL_CALLS]${name}[ARGS]${text}`,
};
const both: { readonly [Name in FormatName]: string } = {
  hermes: `${written.hermes("f", '{"x": 1}')}\n${written.hermes("g", "{}")}`,
  llama3: `${written.llama3("f", '{"x": 1}')}; ${written.llama3("g", "{}")}`,
  mistral: '[TOOL_CALLS] [{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]',
  "mistral-named": '[TOOL_CALLS]f[ARGS]{"x": 1}[TOOL_CALLS]g[ARGS]{}',
};

for (const format of formats) {
  const write = written[format];
  const f = write("f", '{"x": 1}');
  const anyG = write("g", '{"any": ["thing"]}');
  const wrong = [write("f", "{}"), write("f", '{"x": 1, "y": 2}'), write("h", "{}"), write("g", "[]")];

  test(`${format}: allows only required calls, one or more, each with its tool's schema`, () => {
    const refused = [...wrong, "", "text", `text ${f}`, `${f} text`];
    check({ choice: "required", format, allowed: [f, anyG, both[format]], refused });
    check({
      choice: "required",
      format,
      areParallel: false,
      allowed: [f, anyG],
      refused: [...refused, both[format]],
    });
    const { text, toolCalls } = readReply(callFormats[format], [both[format]], { names: ["f", "g"] });
    assert.deepEqual(
      [text, ...toolCalls.map(({ name, argumentsText }) => name + argumentsText)],
      ["", 'f{"x": 1}', "g{}"],
    );
  });

  test(`${format}: allows at most one blank between the signs of arguments`, () => {
    const allowed = [write("f", '{"x":1}'), write("f", '{ "x" : 1 }')];
    const refused = [write("f", '{"x":  1}'), write("f", '{"x":\n1}')];
    check({ choice: "required", format, constraint: jsonSchema(true), areExempt: true, allowed, refused });
    check({ choice: "auto", format, isStrict: true, allowed, refused });
  });

  test(`${format}: allows only a call of a named function`, () => {
    check({
      choice: "named",
      format,
      areParallel: false,
      allowed: [f],
      refused: [anyG, both[format], ...wrong, "text"],
    });
  });

  test(`${format}: allows text next to strict tools' calls, which match their schema`, () => {
    const allowed = ["", "text", "a < b {", f, anyG, both[format]];
    check({ choice: "auto", format, isStrict: true, allowed, refused: wrong });
    const one = [`${f}\n${f}`, both[format]];
    check({ choice: "auto", format, isStrict: true, areParallel: false, allowed: ["text", f], refused: one });
  });

  test(`${format}: enforces a response format unless tools are called`, () => {
    const constraint = jsonSchema({ enum: ["yes"] });
    const answers = { choice: "auto", format, constraint } as const;
    check({
      ...answers,
      areExempt: true,
      allowed: ['"yes"', f, anyG, write("f", "{}")],
      refused: ["text", `"yes"${f}`],
    });
    check({ ...answers, allowed: ['"yes"'], refused: [f] });
  });
}

test("allows calls with the blanks and ids that some versions of Mistral models write", () => {
  const list = '[TOOL_CALLS][{"name": "f", "arguments": {"x": 1}, "id": "abcDEF123"}]';
  const named = '[TOOL_CALLS]f[CALL_ID]abcDEF123[ARGS]{"x": 1}';
  const odd = [
    '[TOOL_CALLS]  [{"name": "g", "arguments": {}}]',
    "[TOOL_CALLS]g[CALL_ID][ARGS]{}",
    "[TOOL_CALLS]gg[ARGS]{}",
  ];
  check({ choice: "required", format: "mistral", allowed: [list], refused: [named, ...odd] });
  check({ choice: "required", format: "mistral-named", allowed: [named], refused: [list, ...odd] });
});

test("applies a constraint after the thought, if the model may think", () => {
  const constraint = choice("a", "b");
  check({ constraint, thought: "none", allowed: ["a"], refused: ["<think>x</think>a"] });
  const possible = ["a", "<think>x</think>a", "<think>\nx\n</think>\n\nb"];
  check({
    constraint,
    thought: "possible",
    allowed: possible,
    refused: ["c", "<think>a", "x</think>a", "<think>x</think>"],
  });
  check({
    constraint,
    thought: "open",
    allowed: ["x</think>a", "\n</think>\n\nb"],
    refused: ["a", "x</think>c"],
  });
  const call = written.hermes("f", '{"x": 1}');
  const answers = { choice: "required", format: "hermes", thought: "open" } as const;
  check({ ...answers, allowed: [`Hm.</think>${call}`], refused: [call, "Hm.</think>"] });
});

test("allows each kind of constraint after a thought", () => {
  const older = { triggers: ["<n>"], structures: [{ begin: "<n>", schema: { const: 1 }, end: "</n>" }] };
  const newer = { type: "structural_tag", format: { type: "const_string", value: "a" } };
  const table = [
    [jsonSchema({ const: "a" }), '"a"', "a"],
    [{ ...jsonSchema({}), kind: "json-object" } as const, '{"a": 1}', "1"],
    [regex("a+"), "aaa", "b"],
    [grammar('root ::= "a" "b"'), "ab", "a"],
    [structuralTag(older), "a <n>1</n>", "<n>2</n>"],
    [structuralTag(newer), "a", "b"],
  ] as const;
  for (const [constraint, allowed, refused] of table)
    check({
      constraint,
      thought: "open",
      allowed: [`x</think>${allowed}`],
      refused: [`x</think>${refused}`, allowed],
    });
});

test("leaves an answer that may call non-strict tools unconstrained, and keeps the request's own constraint", () => {
  const calls = { format: callFormats.hermes, areParallel: true };
  const prompt = { tools: [{ type: "function", function: { name: "f" } }] };
  const auto = { kind: "auto" } as const;
  assert.equal(
    constrainedReply(chatRequest({ prompt }), auto, { thought: "possible", calls, features }),
    null,
  );
  const constraint = choice("a");
  const request = chatRequest({ prompt, constraint });
  assert.equal(constrainedReply(request, auto, { thought: "none", calls, features }), constraint);
});
