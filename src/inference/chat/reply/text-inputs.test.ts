// Tests that a tool's text input is extracted from the JSON that a model writes, regardless of how the JSON is split.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { callFormats } from "../tools/call-formats.ts";
import { readReply } from "../testing/read-reply.ts";
import { searching } from "../../../base/domain/testing/search.ts";

/** Returns the text inputs of the calls in an answer. */
function inputs(texts: readonly string[]): readonly string[] {
  const { toolCalls } = readReply(callFormats.hermes, texts, {
    names: ["f", "patch"],
    textTools: new Set(["patch"]),
  });
  return toolCalls.map(({ argumentsText }) => argumentsText);
}

const call = (name: string, argumentsText: string): string =>
  `<tool_call>\n{"name": "${name}", "arguments": ${argumentsText}}\n</tool_call>`;

test("decodes a text however it is escaped and split", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.boolean(), fc.nat(), (text, isAscii, at) => {
      const json = JSON.stringify({ input: text });
      const written = isAscii ? json.replaceAll(/[^\x20-\x7e]/g, unicodeEscape) : json;
      const whole = call("patch", written);
      const cut = at % whole.length;
      assert.deepEqual(inputs([whole]), [text]);
      assert.deepEqual(inputs([whole.slice(0, cut), whole.slice(cut)]), [text]);
      if (isAscii) assert.deepEqual(inputs(whole.split("")), [text]);
    }),
    searching(100),
  );
});

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

test("emits a text as it arrives, and passes through arguments of another form", () => {
  const { pieces } = readReply(
    callFormats.hermes,
    ['<tool_call>{"name": "patch", "arguments": {"input": "on', "e\\", "ntwo", '"}}</tool_call>'],
    {
      names: ["patch"],
      textTools: new Set(["patch"]),
    },
  );
  const grown = pieces.flatMap(({ toolCalls }) => toolCalls.map(({ argumentsText }) => argumentsText));
  assert.deepEqual(
    grown.filter((text) => text !== ""),
    ["one", "\ntwo"],
  );
  assert.ok(pieces.flatMap(({ toolCalls }) => toolCalls).every(({ isText }) => isText === true));
  assert.deepEqual(inputs([call("patch", '{"other": 1}')]), ['{"other": 1}']);
  assert.deepEqual(inputs([call("f", '{"input": "a"}'), call("patch", '{"input": "b"}')]), [
    '{"input": "a"}',
    "b",
  ]);
  assert.deepEqual(inputs(['<tool_call>{"name": "patch", "arguments": {"input": "cut of']), ["cut of"]);
});
