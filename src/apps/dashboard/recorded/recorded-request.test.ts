import assert from "node:assert/strict";
import { test } from "node:test";
import type { RecordedCompletion } from "../../client/api.ts";
import { chatSettings } from "../chat/chat-settings.ts";
import { decoded, messagesBefore } from "../chat/conversation.ts";
import { recordedBody, recordedChatQuery } from "./recorded-request.ts";

const messages = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Where?" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c1", type: "function", function: { name: "find", arguments: "{}" } }],
  },
  { role: "tool", tool_call_id: "c1", content: "59.9" },
];
const recorded = {
  id: "chatcmpl-1",
  model_id: "m1",
  step: 2,
  messages,
  tools: [{ type: "function", function: { name: "find" } }],
  sampling: {
    temperature: 0.5,
    top_p: 1,
    top_k: 7,
    min_p: 0,
    top_n_sigma: 0,
    repetition_penalty: 1,
    frequency_penalty: 0,
    presence_penalty: 0.25,
    seed: 9,
    max_tokens: 20,
    min_tokens: 0,
    stop: ["END"],
    use_beam_search: false,
    is_held: false,
  },
  // Safe cast: only the message of a choice is read.
  choices: [
    { message: { role: "assistant", content: "North." } },
  ] as unknown as RecordedCompletion["choices"],
};

test("writes the request of a recorded conversation without neutral options", () => {
  assert.deepEqual(recordedBody(recorded), {
    model: "m1:step2",
    messages,
    tools: recorded.tools,
    temperature: 0.5,
    top_k: 7,
    presence_penalty: 0.25,
    max_completion_tokens: 20,
    seed: 9,
    stop: ["END"],
  });
  assert.equal(recordedBody({ ...recorded, messages: null }), null);
});

test("opens a recorded conversation as a chat with the same messages and options", () => {
  const query = new URLSearchParams(recordedChatQuery(recorded) ?? {});
  const settings = chatSettings(query, "");
  assert.deepEqual(settings.models, ["m1:step2"]);
  assert.deepEqual([settings.topK, settings.topP, settings.presencePenalty], ["7", "", "0.25"]);
  const rounds = decoded(query.get("c"));
  const asked = messages.map((message) => ({ ...message, content: message.content ?? "" }));
  assert.deepEqual(messagesBefore(rounds, 0, settings.system), asked);
  const answer = rounds.at(-1)?.columns[0]?.at(-1);
  assert.deepEqual([answer?.answer.text, answer?.answer.id, answer?.seed], ["North.", "chatcmpl-1", "9"]);
});

test("does not open messages that a chat cannot hold", () => {
  for (const message of [
    { role: "user", content: [{ type: "image_url" }] },
    { role: "developer", content: "Be brief." },
    { role: "assistant", content: "First." },
  ])
    assert.equal(recordedChatQuery({ ...recorded, messages: [message] }), null);
  assert.equal(recordedChatQuery({ ...recorded, messages: null }), null);
});
