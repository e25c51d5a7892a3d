// Tests of converting a stored trajectory to the turns that the page shows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { branchesOf, indentedJson } from "./turns.ts";

const plain = { thoughts: null, toolCalls: [], toolCallId: null, finishReason: null, tokens: null };

test("lists messages, answers with tokens, tool calls and tool results in order", () => {
  const call = { id: "c1", type: "function", function: { name: "find", arguments: '{"city":"Oslo"}' } };
  const [{ turns, toolNames }] = branchesOf({
    tools: [{ type: "function", function: { name: "find" } }],
    messages_and_choices: [
      { role: "user", content: [{ type: "text", text: "Where?" }, { type: "image_url" }] },
      {
        finish_reason: "tool_calls",
        message: { role: "assistant", content: null, reasoning: "hm", tool_calls: [call] },
        logprobs: { content: [{ token: "x", logprob: -0.5 }] },
      },
      { role: "tool", tool_call_id: "c1", content: "north" },
    ],
  });
  assert.deepEqual(toolNames, ["find"]);
  assert.deepEqual(turns, [
    { ...plain, role: "user", isReply: false, text: "Where?\n[image_url]" },
    {
      role: "assistant",
      isReply: true,
      text: "",
      thoughts: "hm",
      toolCalls: [{ id: "c1", name: "find", argumentsText: '{\n  "city": "Oslo"\n}' }],
      toolCallId: null,
      finishReason: "tool_calls",
      tokens: [{ text: "x", isTextless: false, logprob: -0.5, level: 2, alternatives: [] }],
    },
    { ...plain, role: "tool", isReply: false, text: "north", toolCallId: "c1" },
  ]);
});

test("shows additional histories as branches, and accepts malformed messages of clients", () => {
  const branches = branchesOf({
    messages_and_choices: [{ role: "user" }],
    additional_histories: [
      {
        messages_and_choices: [
          { role: "assistant", content: "Ho", tool_calls: [{ function: { arguments: "{" } }] },
        ],
      },
      {},
    ],
  });
  assert.deepEqual(
    branches.map(({ name, turns }) => [name, turns.length]),
    [
      ["Conversation", 1],
      ["Branch 1", 1],
      ["Branch 2", 0],
    ],
  );
  assert.deepEqual(branches[1].turns[0].toolCalls, [{ id: null, name: "unnamed", argumentsText: "{" }]);
});

test("indents results that are JSON objects or lists, and leaves other texts", () => {
  assert.deepEqual(['{"a":[1]}', "[]", "59.9", '"north"', "in Oslo {", "null"].map(indentedJson), [
    '{\n  "a": [\n    1\n  ]\n}',
    "[]",
    null,
    null,
    null,
    null,
  ]);
});
