// Tests a model whose chat template raises an error if a system message is not the first message. Tests over HTTP every
// route that renders messages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, serverOfFile } from "./running-server.ts";
import { templated } from "./templated-models.ts";

const server = serverOfFile({ flags: templated });

const said = (role: string, content: string) => ({ role, content });
const ask = async (path: string, body: object) =>
  call(server(), "POST", path, { body: { model: "strict", ...body } });
const opened =
  "<|im_start|>system\nA\n\nB<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n";

async function promptTokenCount(text: string): Promise<number> {
  const { status, body } = await ask("/tokenize", { prompt: text, add_special_tokens: false });
  assert.equal(status, 200, JSON.stringify(body));
  return body.count;
}

test("later system messages are joined into the first one, on every route that takes messages", async () => {
  const messages = [said("system", "A"), said("user", "Hi"), said("system", "B")];
  const rendered = await ask("/tokenize", { messages });
  const text = await ask("/detokenize", { tokens: rendered.body.tokens });
  assert.equal(text.body.prompt, opened);
  const count = await promptTokenCount(opened);
  const chat = await ask("/v1/chat/completions", { messages, max_tokens: 1 });
  assert.equal(chat.status, 200, JSON.stringify(chat.body));
  assert.equal(chat.body.usage.prompt_tokens, count);
  const response = await ask("/v1/responses", {
    instructions: "A",
    input: [said("user", "Hi"), said("system", "B")],
    max_output_tokens: 1,
  });
  assert.equal(response.status, 200, JSON.stringify(response.body));
  assert.equal(response.body.usage.input_tokens, count);
  const message = await ask("/v1/messages", {
    system: "A",
    messages: [said("user", "Hi"), said("system", "B")],
    max_tokens: 1,
  });
  assert.equal(message.status, 200, JSON.stringify(message.body));
  const counted = await ask("/v1/messages/count_tokens", {
    system: "A",
    messages: [said("user", "Hi"), said("system", "B")],
  });
  // In the Messages API, the prompt turns thinking off unless the request asks for it.
  const thoughtless = await promptTokenCount(`${opened}\n</think>\n\n`);
  assert.equal(counted.body.input_tokens, thoughtless, JSON.stringify(counted.body));
});

test("anything else that the template refuses is reported in the template's words, located at the messages", async () => {
  const messages = [said("system", "A"), said("assistant", "Ho")];
  const message = 'The chat template refuses these messages: "No user query found in messages."';
  const asked: readonly (readonly [string, object, readonly string[]])[] = [
    ["/v1/chat/completions", { messages }, ["body", "messages"]],
    ["/tokenize", { messages }, ["body", "messages"]],
    ["/v1/responses", { input: messages }, ["body", "input"]],
  ];
  for (const [path, body, loc] of asked) {
    const answer = await ask(path, body);
    assert.equal(answer.status, 400, path);
    assert.deepEqual(answer.body.detail, [{ loc, msg: message, type: "value_error" }], path);
  }
  const answer = await ask("/v1/messages", { system: "A", messages: [messages[1]], max_tokens: 1 });
  assert.equal(answer.status, 400);
  assert.equal(answer.body.error.message, message);
});
