// Tests the unmodified npm packages `ollama` and `ollama-ai-provider-v2` against the server at OLLAMA_HOST.
import assert from "node:assert/strict";
import { test } from "node:test";
import { generateText, Output, streamText, tool } from "ai";
import { Ollama } from "ollama";
import { createOllama } from "ollama-ai-provider-v2";
import { z } from "zod";

const { OLLAMA_HOST: host, MODEL: model, OLLAMA_API_KEY: key } = process.env;
const headers = { authorization: `Bearer ${key}` };
const client = new Ollama({ host, headers });
const messages = [{ role: "user", content: "What is the weather in Oslo?" }];
const options = { temperature: 0, num_predict: 16, num_ctx: 4096 };
const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather in a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

test("lists and describes the model, and confirms it like a download", async () => {
  const { models } = await client.list();
  assert.ok(
    models.some(({ name, size, digest }) => name === `${model}:latest` && size > 0 && digest.length === 64),
  );
  const shown = await client.show({ model });
  assert.ok(shown.capabilities.includes("tools"), shown.capabilities.join());
  assert.ok(shown.model_info[`${shown.model_info["general.architecture"]}.context_length`] > 0);
  assert.ok((await client.ps()).models.some(({ name }) => name === `${model}:latest`));
  const progress = [];
  for await (const { status } of await client.pull({ model, stream: true })) progress.push(status);
  assert.equal(progress.at(-1), "success");
});

test("answers a chat whole and as a stream, with the same text and true counts", async () => {
  const whole = await client.chat({ model, messages, options });
  let text = "";
  let last;
  for await (const part of await client.chat({ model, messages, options, stream: true })) {
    text += part.message.content;
    last = part;
  }
  assert.equal(text, whole.message.content);
  assert.deepEqual([last.prompt_eval_count, last.eval_count], [whole.prompt_eval_count, whole.eval_count]);
  assert.ok(last.total_duration >= last.prompt_eval_duration + last.eval_duration);
});

test("answers with JSON that a zod schema accepts", async () => {
  const schema = z.object({ city: z.enum(["Oslo", "Rome"]), degrees: z.int().min(-40).max(40) });
  const format = z.toJSONSchema(schema);
  const answer = await client.chat({ model, messages, format, options: { ...options, num_predict: 128 } });
  schema.parse(JSON.parse(answer.message.content));
  const free = await client.generate({
    model,
    prompt: "x",
    format: "json",
    options: { num_predict: 400, seed: 1 },
  });
  assert.match(free.response, /^\s*\{/);
});

test("continues after a tool call without ids", async () => {
  const called = {
    role: "assistant",
    content: "",
    tool_calls: [{ function: { name: "weather", arguments: { city: "Oslo" } } }],
  };
  const result = { role: "tool", tool_name: "weather", content: "rain" };
  const answer = await client.chat({
    model,
    tools: [weather],
    messages: [...messages, called, result],
    options,
  });
  assert.ok(answer.eval_count > 0);
});

test("generates, embeds, and reports errors", async () => {
  const answer = await client.generate({ model, prompt: "Hi", system: "Be short", logprobs: true, options });
  assert.equal(answer.logprobs.length, answer.eval_count);
  const { embeddings } = await client.embed({ model, input: ["a cat", "a dog"] });
  assert.equal(embeddings.length, 2);
  await assert.rejects(client.chat({ model: "nothing", messages }), {
    status_code: 404,
    message: /does not exist/,
  });
  await assert.rejects(client.pull({ model: "nothing" }), { status_code: 404, message: /hone models add/ });
  await assert.rejects(client.generate({ model, prompt: "a", images: ["AAAA"] }), {
    status_code: 400,
    message: /images/,
  });
});

test("works as a provider of the AI SDK: text, stream, object and tool call", async () => {
  const provider = createOllama({ baseURL: `${host}/api`, headers });
  // The options go into `providerOptions`: the provider sends `temperature` and `maxOutputTokens` in fields that Ollama
  // ignores.
  const sampling = (length) => ({ ollama: { options: { temperature: 0, num_predict: length } } });
  const asked = { model: provider(model), prompt: "Hi", providerOptions: sampling(16) };
  const { text, usage } = await generateText(asked);
  assert.ok(usage.outputTokens > 0);
  const { textStream } = streamText(asked);
  let streamed = "";
  for await (const part of textStream) streamed += part;
  assert.equal(streamed, text);
  const { output } = await generateText({
    ...asked,
    providerOptions: sampling(128),
    output: Output.object({ schema: z.object({ city: z.enum(["Oslo", "Rome"]) }) }),
  });
  assert.ok(["Oslo", "Rome"].includes(output.city));
  const tools = { weather: tool({ inputSchema: z.object({ city: z.string() }) }) };
  const { finishReason } = await generateText({ ...asked, tools });
  assert.ok(["stop", "length", "tool-calls"].includes(finishReason), finishReason);
});
