import assert from "node:assert/strict";
import { test } from "node:test";
import { chatOf } from "./call-chat.ts";

const asked = { role: "user", content: "Where is my order?" };

function turnsOf(inputs: Readonly<Record<string, unknown>>, output: unknown) {
  return chatOf({ inputs, output })?.turns.map(({ role, text, isReply }) => [role, text, isReply]);
}

test("shows a request in OpenAI's form as its messages and all its answers", () => {
  const message = { role: "assistant", content: "On its way." };
  const tools = [{ type: "function", function: { name: "track" } }];
  const chat = chatOf({ inputs: { messages: [asked], tools }, output: { choices: [{ message }] } });
  assert.deepEqual(chat?.toolNames, ["track"]);
  assert.deepEqual(turnsOf({ messages: [asked] }, { choices: [{ message, finish_reason: "stop" }] }), [
    ["user", "Where is my order?", false],
    ["assistant", "On its way.", true],
  ]);
});

test("shows a request in Anthropic's form with its system prompt", () => {
  const answer = { role: "assistant", content: [{ type: "text", text: "On its way." }] };
  assert.deepEqual(turnsOf({ messages: [asked], system: "Be brief." }, answer), [
    ["system", "Be brief.", false],
    ["user", "Where is my order?", false],
    ["assistant", "On its way.", true],
  ]);
});

test("shows the messages of a request that failed, and of no other call", () => {
  assert.deepEqual(turnsOf({ messages: [asked] }, null), [["user", "Where is my order?", false]]);
  for (const inputs of [{}, { messages: [] }, { messages: "Hi" }, { messages: ["Hi"] }, { question: "Hi" }])
    assert.equal(turnsOf(inputs, { choices: [] }), undefined);
});
