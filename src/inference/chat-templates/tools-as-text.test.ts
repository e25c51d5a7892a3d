// Tests prompts with tools, calls and results for a model whose template supports none of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { plainConversation, type Conversation } from "../../base/domain/chat.ts";
import { systemClock } from "../../base/domain/clock.ts";
import { parseExactJson } from "../../base/domain/text/exact-json.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import { createChatTemplate } from "./chat-template.ts";
import { withToolsAsText } from "./tools-as-text.ts";

const turns =
  "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
const withoutSystem = `{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}${turns}`;

function render(source: string, conversation: Partial<Conversation>): string {
  const options = { source, toolUseSource: null, specialTokens: {}, clock: systemClock };
  const template = withToolsAsText(createChatTemplate(options), systemClock);
  return template.render({ messages: [], ...plainConversation, ...conversation });
}

// Numbers keep all their digits in the prompt's JSON.
const tools = [
  parseExactJson(
    '{"type":"function","function":{"name":"wéather","parameters":{"properties":{"id":{"const":12345678901234567890}}}}}',
  ) as unknown as JsonObject,
];
const shown = `You can call functions. These are there, a JSON object in each line:
<tools>
{"type": "function", "function": {"name": "wéather", "parameters": {"properties": {"id": {"const": 12345678901234567890}}}}}
</tools>

To call one, write its name and its arguments as a JSON object between <tool_call> and </tool_call>, and nothing behind it but further calls:
<tool_call>
{"name": "the name of the function", "arguments": {"the name of an argument": "its value"}}
</tool_call>

What comes of your calls stands between <tool_response> and </tool_response> in the next message.`;

const user = { role: "user", content: "Hi" };

test("shows tools after the system message, or as the system message", () => {
  const system = { role: "system", content: "Be brief." };
  assert.equal(
    render(turns, { messages: [system, user], tools }),
    `<system>Be brief.\n\n${shown}</system>\n<user>Hi</user>\n<assistant>`,
  );
  assert.equal(
    render(turns, {
      messages: [{ ...system, role: "developer", content: [{ type: "text", text: "A" }] }, user],
      tools,
    }),
    `<system>A\n${shown}</system>\n<user>Hi</user>\n<assistant>`,
  );
  assert.equal(
    render(turns, { messages: [user], tools }),
    `<system>${shown}</system>\n<user>Hi</user>\n<assistant>`,
  );
});

test("shows tools before the first message if the template refuses system messages", () => {
  assert.equal(
    render(withoutSystem, { messages: [user], tools }),
    `<user>${shown}\n\nHi</user>\n<assistant>`,
  );
});

const call = (name: string, given: string) => ({
  id: "c",
  type: "function",
  function: { name, arguments: given },
});

test("writes calls and results as text, keeping the digits of numbers", () => {
  const messages: readonly MessageRecord[] = [
    user,
    {
      role: "assistant",
      content: "Let me see.",
      tool_calls: [
        call("f", '{"a":1.0,"b":[12345678901234567890,"é"]}'),
        call("g", ""),
        call("h", "{broken"),
      ],
    },
    { role: "tool", content: "one", tool_call_id: "c" },
    { role: "tool", content: [{ type: "text", text: "two" }], tool_call_id: "c" },
    { role: "assistant", content: null, tool_calls: [call("f", "{}")] },
    { role: "tool", content: "three", tool_call_id: "c" },
  ];
  assert.equal(
    render(turns, { messages }),
    `<user>Hi</user>
<assistant>Let me see.
<tool_call>
{"name": "f", "arguments": {"a": 1.0, "b": [12345678901234567890, "é"]}}
</tool_call>
<tool_call>
{"name": "g", "arguments": {}}
</tool_call>
<tool_call>
{"name": "h", "arguments": {broken}
</tool_call></assistant>
<user><tool_response>
one
</tool_response>
<tool_response>
two
</tool_response></user>
<assistant><tool_call>
{"name": "f", "arguments": {}}
</tool_call></assistant>
<user><tool_response>
three
</tool_response></user>
<assistant>`,
  );
});

test("leaves a conversation without tools unchanged, and content that is not text to the template's own refusal", () => {
  assert.equal(render(turns, { messages: [user] }), "<user>Hi</user>\n<assistant>");
  const image = { type: "image_url", image_url: { url: "x" } };
  assert.throws(() => render(turns, { messages: [{ role: "system", content: [image] }], tools }), {
    code: "unsupported",
    message: /content part of type "image_url" cannot be shown/,
  });
});

test("continues a final message, and respects a template's limits", () => {
  const messages = [user, { role: "assistant", content: "So" }];
  const asked = { messages, tools, addGenerationPrompt: false, continueFinalMessage: true };
  assert.equal(render(turns, asked), `<system>${shown}</system>\n<user>Hi</user>\n<assistant>So`);
  const template = withToolsAsText(
    createChatTemplate({ source: turns, toolUseSource: null, specialTokens: {}, clock: systemClock }),
    systemClock,
  );
  const limits = {
    timeMs: 10_000,
    lengthMax: 100,
    onTimeUp: () => new Error("time"),
    onTooLong: () => new Error("too long"),
  };
  assert.throws(() => template.render({ ...plainConversation, messages: [user], tools }, limits), /too long/);
});
