// Tests answers in gpt-oss's channels: thoughts, text, calls, and constraints on them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readLanguage } from "../../../../lib/constraints/grammar/language.ts";
import { accepts } from "../../../../lib/constraints/grammar/testing/accepts.ts";
import { defaultGrammarLimits } from "../../../../lib/constraints/regex/limits.ts";
import { readReply } from "../../testing/read-reply.ts";
import { harmonyFormat } from "./harmony-format.ts";

interface Expected {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly string[];
}

/** Checks how an answer is parsed if it arrives whole, character by character, or in pieces of seven characters. */
function check(text: string, { text: said = "", reasoning = "", calls = [] }: Expected, names = ["f"]): void {
  for (const pieces of [[text], text.split(""), text.match(/[\s\S]{1,7}/g) ?? []]) {
    const read = readReply(harmonyFormat, pieces, { names });
    const called = read.toolCalls.map(({ name, argumentsText }) => `${name} ${argumentsText}`);
    assert.deepEqual(
      { text: read.text, reasoning: read.reasoning, calls: called },
      { text: said, reasoning, calls },
      text,
    );
  }
}

const analysis = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";
const call = (name: string, json: string): string =>
  `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${json}<|call|>`;

test("splits an answer's channels into its thought, text and calls", () => {
  check("<|channel|>final<|message|>Hi.<|return|>", { text: "Hi." });
  check(`${analysis}<|channel|>final<|message|>Hi.\n`, { reasoning: "Hm.", text: "Hi.\n" });
  check(`${analysis}${call("f", '{"a": 1}')}`, { reasoning: "Hm.", calls: ['f {"a": 1}'] });
  check(call("f", '{"a": "<b>"}\n'), { calls: ['f {"a": "<b>"}'] });
  check(`<|channel|>commentary<|message|>I look.<|end|><|start|>assistant${call("f", "{}")}`, {
    text: "I look.",
    calls: ["f {}"],
  });
  check(`${analysis}${analysis}<|channel|>final<|message|>Hi.`, { reasoning: "Hm.\nHm.", text: "Hi." });
  check(`<|channel|>commentary<|message|>One.<|end|><|start|>assistant<|channel|>final<|message|>Two.`, {
    text: "One.\nTwo.",
  });
});

test("accepts a recipient next to the role, and several calls in a row", () => {
  const other = ' to=functions.f<|channel|>commentary json<|message|>{"a": 1}<|call|>';
  check(other, { calls: ['f {"a": 1}'] });
  check(`${analysis}${other}<|start|>assistant${call("g", "{}")}`, {
    reasoning: "Hm.",
    calls: ['f {"a": 1}', "g {}"],
  });
  check("<|channel|>commentary to=f json<|message|>{}", { calls: ["f {}"] });
});

test("keeps the text of truncated or broken messages and of answers without channels", () => {
  check("Hello.", { text: "Hello." });
  check("", {});
  check("<|channel|>analysis<|message|>Hm", { reasoning: "Hm" });
  check("<|channel|>final", { text: "<|channel|>final" });
  check("<|start|>", { text: "<|start|>" });
  check(call("f", '{"a": tru}'), { calls: ['f {"a": tru}'] });
  check(call("f", "{'a': True}"), { calls: ['f {"a": true}'] });
  check('<|channel|>commentary to=functions.f json<|message|>{"a": "Ro', { calls: ['f {"a": "Ro'] });
  check("<|channel|>analysis to=python code<|message|>1+1<|call|>", { reasoning: "1+1" });
  // If the request has no tools, a message to a function is text.
  check(call("f", '{"a": 1}'), { text: '{"a": 1}' }, []);
});

function language(format: unknown): ReturnType<typeof readLanguage> {
  const tag = JSON.stringify({ type: "structural_tag", format });
  const options = { allowsAnyWhitespace: true, whitespacePattern: " ?", allowsAdditionalProperties: true };
  return readLanguage({ kind: "structural-tag", tag, ...options }, defaultGrammarLimits);
}

test("allows only thoughts before a required call, and ends the answer with the call's arguments", () => {
  const schema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
  const held = language(harmonyFormat.calls([{ name: "f", schema }], true));
  const right = harmonyFormat.written("f", { a: 1 });
  for (const text of [right, analysis + right]) assert.ok(accepts(held, text), text);
  for (const text of [
    harmonyFormat.written("f", {}),
    harmonyFormat.written("g", { a: 1 }),
    "<|channel|>final<|message|>Hi.",
    analysis,
    `${right}<|call|>`,
  ])
    assert.ok(!accepts(held, text), text);
});

test("applies a constraint on the answer to its final channel", () => {
  const held = language(harmonyFormat.answer?.({ type: "json_schema", json_schema: { type: "integer" } }));
  for (const text of ["<|channel|>final<|message|>12", `${analysis}<|channel|>final<|message|>12`])
    assert.ok(accepts(held, text), text);
  for (const text of ["12", "<|channel|>final<|message|>Hi", `${analysis}12`])
    assert.ok(!accepts(held, text), text);
});
