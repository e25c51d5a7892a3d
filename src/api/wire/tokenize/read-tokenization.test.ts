import assert from "node:assert/strict";
import { test } from "node:test";
import { chatPrompt } from "../../../inference/chat/testing/chat-request.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { httpSettings } from "../../http/settings.ts";
import { readDetokenization, readTokenization, tokenizationPaths } from "./read-tokenization.ts";

const limits = httpSettings.with();
const messages = [{ role: "user", content: "hi" }];

function refuses(read: () => unknown, ...locations: readonly string[]): void {
  assert.throws(read, (error: unknown) => {
    assert.ok(error instanceof ServiceError && error.code === "invalid", String(error));
    assert.deepEqual(
      error.faults.map(({ location }) => location.join(".")),
      locations,
    );
    return true;
  });
}

test("reads a prompt with special tokens by default, and messages like a chat request", () => {
  const read = (body: object): object => readTokenization(body, limits).request;
  const text = { kind: "text", text: "a", addSpecialTokens: true, truncation: null, echo: false };
  assert.deepEqual(read({ prompt: "a" }), { model: null, prompt: text, wantsTexts: false });
  assert.deepEqual(
    read({ prompt: "a", tools: null, model: "m", add_special_tokens: false, return_token_strs: true }),
    { model: "m", prompt: { ...text, addSpecialTokens: false }, wantsTexts: true },
  );
  assert.deepEqual(read({ messages }), { model: null, prompt: chatPrompt(), wantsTexts: false });
  const tools = [{ type: "function", function: { name: "f" } }];
  const asked = {
    messages,
    tools,
    documents: [{ text: "d" }],
    chat_template: "x",
    chat_template_kwargs: { a: 1, tools: 2 },
    reasoning_effort: "low",
    continue_final_message: true,
    add_special_tokens: true,
  };
  const prompt = chatPrompt({
    tools,
    documents: [{ text: "d" }],
    template: "x",
    templateArguments: { a: 1 },
    reasoningEffort: "low",
    addGenerationPrompt: false,
    continueFinalMessage: true,
    addSpecialTokens: true,
  });
  assert.deepEqual(read(asked), { model: null, prompt, wantsTexts: false });
  assert.deepEqual(readTokenization({ prompt: "a", mm_processor_kwargs: {} }, limits).ignored, [
    "mm_processor_kwargs",
  ]);
});

test("requires either a prompt or messages, and refuses message options for a prompt", () => {
  const read = (body: object) => () => readTokenization(body, limits);
  refuses(read({}), "body.prompt");
  refuses(read({ prompt: "a", messages }), "body");
  refuses(
    read({ prompt: "a", tools: [], chat_template: "x", continue_final_message: false }),
    "body.tools",
    "body.chat_template",
    "body.continue_final_message",
  );
  refuses(read({ messages, continue_final_message: true, add_generation_prompt: true }), "body");
  refuses(read({ messages, chat_template_kwargs: { tokenize: true } }), "body.chat_template_kwargs.tokenize");
  refuses(read({ messages: Array.from({ length: 4097 }, () => messages[0]) }), "body.messages");
});

test("reads the tokens to detokenize", () => {
  const { request } = readDetokenization({ tokens: [1, 0], model: null });
  assert.deepEqual(request, { model: null, tokenIds: [1, 0] });
  refuses(() => readDetokenization({ tokens: [1, -1, 0.5] }), "body.tokens.1", "body.tokens.2");
  refuses(() => readDetokenization({}), "body.tokens");
});

test("locates faults at the fields of the body", () => {
  assert.deepEqual(tokenizationPaths["prompt.template"], ["body", "chat_template"]);
  assert.deepEqual(tokenizationPaths["prompt.messages"], ["body", "messages"]);
  assert.deepEqual(tokenizationPaths["prompt.continueFinalMessage"], ["body", "continue_final_message"]);
});
