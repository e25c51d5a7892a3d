// Checks that types of other vendors' clients are compatible with this client's types: messages in chats, and answers
// in trajectories. The test passes if it compiles.
import assert from "node:assert/strict";
import { test } from "node:test";
import type OpenAI from "openai";
import type { ChatCompletionRequest, Trajectory } from "./api.ts";

test("accepts messages, tools and choices of OpenAI's client in chats and trajectories", () => {
  const asked: readonly OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Hi" }];
  const tools: readonly OpenAI.ChatCompletionTool[] = [];
  const choice: OpenAI.ChatCompletion.Choice = {
    index: 0,
    finish_reason: "stop",
    logprobs: null,
    message: { role: "assistant", content: "Hello", refusal: null },
  };
  const body: ChatCompletionRequest = { messages: asked, tools };
  const trajectory: Trajectory = { messages_and_choices: [...asked, choice], tools, reward: 1 };
  assert.equal(trajectory.messages_and_choices?.length, body.messages.length + 1);
});
