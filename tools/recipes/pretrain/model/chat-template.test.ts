// Tests the built-in model's chat template: plain ChatML without tools, and the layout of tools, calls and results.
import assert from "node:assert/strict";
import { test } from "node:test";
import { plainConversation } from "../../../../src/base/domain/chat.ts";
import type { JsonObject } from "../../../../src/base/domain/text/json.ts";
import type { MessageRecord } from "../../../../src/base/domain/trajectory.ts";
import { loadChatTemplate } from "../../../../src/inference/chat-templates/load-chat-template.ts";

const template = await loadChatTemplate("models/hone-tiny");

function render(messages: readonly MessageRecord[], tools: readonly JsonObject[] | null = null): string {
  return template.render({ ...plainConversation, messages, tools, addGenerationPrompt: true });
}

const system = { role: "system", content: "Be brief." };
const question = { role: "user", content: "How much are 3 apples?" };

test("renders a chat without tools as ChatML, turn by turn", () => {
  const messages = [system, question, { role: "assistant", content: "12" }, { role: "user", content: "" }];
  const turns = messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`);
  assert.equal(render(messages), `${turns.join("")}<|im_start|>assistant\n`);
  assert.equal(render(messages.slice(1)), `${turns.slice(1).join("")}<|im_start|>assistant\n`);
});

test("renders tools as signatures after the system prompt, calls in Hermes form and results as turns", () => {
  const price = {
    name: "price",
    description: "What an item costs.",
    parameters: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
  };
  const size = { enum: ["small", "big"] };
  const times = {
    name: "times",
    parameters: { type: "object", properties: { a: { type: "number" }, b: {}, size } },
  };
  const call = (name: string, value: JsonObject) => ({
    id: "c",
    type: "function",
    function: { name, arguments: value },
  });
  const messages: readonly MessageRecord[] = [
    system,
    question,
    {
      role: "assistant",
      content: "",
      tool_calls: [call("price", { item: "apple" }), call("times", { a: 3, b: 4 })],
    },
    { role: "tool", tool_call_id: "c", content: "4" },
    { role: "assistant", content: "So.", tool_calls: [call("now", {})] },
  ];
  const tools = [
    { type: "function", function: price },
    { type: "function", function: times },
    { type: "function", function: { name: "now" } },
  ];
  const expected = `<|im_start|>system
Be brief.

<tools>
price(item: string) What an item costs.
times(a: number, b, size: ["small", "big"])
now()
</tools><|im_end|>
<|im_start|>user
How much are 3 apples?<|im_end|>
<|im_start|>assistant
<tool_call>
{"name": "price", "arguments": {"item": "apple"}}
</tool_call>
<tool_call>
{"name": "times", "arguments": {"a": 3, "b": 4}}
</tool_call><|im_end|>
<|im_start|>tool
4<|im_end|>
<|im_start|>assistant
So.
<tool_call>
{"name": "now", "arguments": {}}
</tool_call><|im_end|>
<|im_start|>assistant
`;
  assert.equal(render(messages, tools), expected);
  assert.ok(render(messages.slice(1), tools).startsWith("<|im_start|>system\n<tools>\nprice("));
});
