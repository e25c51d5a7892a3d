// Tests the official Ollama client on a running server with three models: the built-in model, a model whose template
// supports tools, and a trained model, whose answers are recorded.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ollama } from "ollama";
import { call, serverOfFile } from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

let ollama: Ollama;
const server = serverOfFile({
  flags: toolModel,
  onStart: ({ url, apiKey }) => {
    ollama = new Ollama({ host: url, headers: { authorization: `Bearer ${apiKey}` } });
  },
});
const model = "hone-tiny";
/** A model with random weights: its text is meaningless, but constraints on it can be checked. */
const agent = "tiny";
const messages = [{ role: "user", content: "spell cat" }];
const options = { temperature: 0, num_predict: 16 };

test("a chat has the same text and counts as a chat completion, whole and as a stream", async () => {
  const { body } = await call(server(), "POST", "/v1/chat/completions", {
    body: { model, messages, temperature: 0, max_tokens: 16 },
  });
  const [choice] = body.choices;
  const whole = await ollama.chat({ model: `${model}:latest`, messages, options });
  assert.equal(whole.message.content, choice.message.content);
  assert.deepEqual(
    [whole.prompt_eval_count, whole.eval_count],
    [body.usage.prompt_tokens, body.usage.completion_tokens],
  );
  const stages = [whole.load_duration, whole.prompt_eval_duration, whole.eval_duration];
  assert.ok(stages.reduce((sum, one) => sum + one) <= whole.total_duration, String(stages));
  let text = "";
  for await (const part of await ollama.chat({ model, messages, options, stream: true }))
    text += part.message.content;
  assert.equal(text, choice.message.content);
  const prompted = await ollama.generate({ model, prompt: "spell cat", options });
  assert.equal(prompted.response, choice.message.content);
});

test("an answer satisfies the schema of its format, and a model with a suitable template lists tools as an ability", async () => {
  const format = {
    type: "object",
    properties: { city: { enum: ["Oslo"] } },
    required: ["city"],
    additionalProperties: false,
  };
  const answer = await ollama.chat({ model: agent, messages, format, options: { num_predict: 64 } });
  assert.deepEqual(JSON.parse(answer.message.content), { city: "Oslo" });
  const shown = await ollama.show({ model: agent });
  assert.ok(shown.capabilities.includes("tools"));
});

test("thinking is refused for a model without thoughts, unless the request only loads the model", async () => {
  for (const think of [true, "high"] as const)
    for (const asked of [
      ollama.chat({ model: `${model}:latest`, messages, think }),
      ollama.generate({ model: `${model}:latest`, prompt: "Hi", think }),
    ])
      await assert.rejects(asked, (error: Error & { readonly status_code: number }) => {
        assert.equal(error.status_code, 400);
        return /"hone-tiny:latest" does not support thinking; leave think out/.test(error.message);
      });
  const answer = await ollama.chat({ model, messages, think: false, options });
  assert.ok(answer.eval_count > 0);
  assert.equal((await ollama.generate({ model, prompt: "", think: true })).done_reason, "load");
});

test("chats with a trained model are recorded with their tokens, and belong to the rollout whose key the client sends", async () => {
  const trained = { project: "ollama", name: "taught", base_model: model };
  const { body } = await call(server(), "POST", "/v1/preview/models", { body: trained });
  const name = `${body.entity}/ollama/taught`;
  const parts = [];
  for await (const part of await ollama.chat({ model: `${name}:latest`, messages, options, stream: true }))
    parts.push(part);
  const recorded = await call(server(), "GET", `/v1/chat/completions?model=${encodeURIComponent(name)}`);
  const [chat, ...more] = recorded.body.data;
  assert.deepEqual(more, []);
  const [choice] = chat.choices;
  assert.equal(choice.message.content, parts.map((part) => part.message.content).join(""));
  assert.equal(choice.token_ids.length, parts.at(-1)?.eval_count);
  const rollout = await call(server(), "POST", `/v1/preview/models/${body.id}/rollouts`, { body: {} });
  const agents = new Ollama({
    host: server().url,
    headers: { authorization: `Bearer ${rollout.body.api_key}` },
  });
  await agents.chat({ model: "gpt-oss", messages, options });
  const path = `/v1/preview/models/${body.id}/rollouts/${rollout.body.rollout_id}`;
  assert.equal((await call(server(), "GET", path)).body.calls.length, 1);
  const tags = (await ollama.list()).models.map((one) => one.name);
  assert.deepEqual(
    tags.filter((tag) => tag.startsWith(`${name}:`)),
    [`${name}:latest`, `${name}:step0`],
  );
  assert.deepEqual(await ollama.delete({ model: name }), { status: "success" });
});
