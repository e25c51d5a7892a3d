// Tests the official OpenAI SDK with a running server: chats, streams and typed errors.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI, {
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  UnprocessableEntityError,
} from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { serverOfFile } from "./running-server.ts";

let openai: OpenAI;
const server = serverOfFile({
  onStart: ({ url, apiKey }) => {
    openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  },
});

test("the SDK lists the models", async () => {
  const models = await openai.models.list();
  assert.ok(models.data.some((model) => model.id === "hone-tiny"));
});

test("the SDK chats, and the same `seed` repeats each of `n` answers", async () => {
  const ask = () =>
    openai.chat.completions.create({
      model: "hone-tiny",
      messages: [{ role: "user", content: "tell me a story" }],
      temperature: 1,
      seed: 7,
      max_tokens: 24,
      n: 2,
      logprobs: true,
      top_logprobs: 3,
    });
  const [first, second] = [await ask(), await ask()];
  assert.equal(first.choices.length, 2);
  assert.deepEqual(
    first.choices.map((choice) => choice.message.content),
    second.choices.map((choice) => choice.message.content),
  );
  const tokens = first.choices[0]?.logprobs?.content ?? [];
  assert.ok(tokens.length > 0);
  for (const token of tokens) {
    assert.ok(token.logprob <= 0);
    assert.equal(token.top_logprobs.length, 3);
    const [best, next] = token.top_logprobs;
    assert.ok(
      best !== undefined &&
        next !== undefined &&
        best.logprob >= next.logprob &&
        best.logprob >= token.logprob - 1e-9,
    );
  }
  assert.equal(
    first.usage?.total_tokens,
    (first.usage?.prompt_tokens ?? 0) + (first.usage?.completion_tokens ?? 0),
  );
});

test("a `stream` contains the same as the whole answer, with usage if `stream_options.include_usage` of `stream_options` requests it", async () => {
  const body = {
    model: "hone-tiny",
    messages: [{ role: "user" as const, content: "spell cat" }],
    temperature: 0,
    max_tokens: 16,
  };
  const whole = await openai.chat.completions.create(body);
  let text = "";
  let finish: string | null = null;
  let usage: number | null = null;
  for await (const chunk of await openai.chat.completions.create({
    ...body,
    stream: true,
    stream_options: { include_usage: true },
  })) {
    text += chunk.choices[0]?.delta.content ?? "";
    finish = chunk.choices[0]?.finish_reason ?? finish;
    usage = chunk.usage?.total_tokens ?? usage;
  }
  assert.equal(text, whole.choices[0]?.message.content);
  assert.equal(finish, whole.choices[0]?.finish_reason);
  assert.equal(usage, whole.usage?.total_tokens);
});

test("a `stop` string ends the answer before the string, with and without streaming", async () => {
  const body = {
    model: "hone-tiny",
    messages: [{ role: "user" as const, content: "tell me a story" }],
    temperature: 0,
    max_tokens: 40,
  };
  const whole = (await openai.chat.completions.create(body)).choices[0]?.message.content ?? "";
  assert.ok(whole.length > 8, whole);
  const stop = whole.slice(4, 7);
  const expected = whole.slice(0, whole.indexOf(stop));
  const stopped = (await openai.chat.completions.create({ ...body, stop })).choices[0];
  assert.equal(stopped?.message.content, expected);
  assert.equal(stopped?.finish_reason, "stop");
  let streamed = "";
  for await (const chunk of await openai.chat.completions.create({ ...body, stop: [stop], stream: true }))
    streamed += chunk.choices[0]?.delta.content ?? "";
  assert.equal(streamed, expected);
});

const animal = z.object({
  name: z.string().min(1).max(12),
  kind: z.enum(["cat", "dog", "owl"]),
  legs: z.number().int().min(0).max(8),
  colors: z.array(z.enum(["red", "blue", "grey"])).max(3),
  owner: z.object({ name: z.string().max(8), isKind: z.boolean() }).nullable(),
});

/** Forbids whitespace, because a small model that begins to write spaces rarely stops. */
const compact = { structured_outputs: { disable_any_whitespace: true } };

test("the SDK parses each answer that conforms to a zod schema", async () => {
  const ask = (seed: number) =>
    openai.chat.completions.parse({
      ...compact,
      model: "hone-tiny",
      messages: [{ role: "user", content: "tell me of an animal" }],
      response_format: zodResponseFormat(animal, "animal"),
      temperature: 1,
      seed,
      max_tokens: 400,
    });
  const drawn = await Promise.all([1, 2, 3, 4].map(ask));
  const parsed = drawn.map(({ choices }) => choices[0]?.message.parsed);
  for (const value of parsed) assert.deepEqual(animal.parse(value), value);
  assert.ok(new Set(parsed.map((value) => JSON.stringify(value))).size > 1, "several are drawn");
});

test("the SDK parses the partial content of a stream, and the whole content at its end", async () => {
  const stream = openai.chat.completions.stream({
    ...compact,
    model: "hone-tiny",
    messages: [{ role: "user", content: "tell me of an animal" }],
    response_format: zodResponseFormat(animal, "animal"),
    temperature: 1,
    seed: 5,
    max_tokens: 400,
  });
  const snapshots: unknown[] = [];
  stream.on("content.delta", ({ parsed }) => snapshots.push(parsed));
  const [choice] = (await stream.finalChatCompletion()).choices;
  assert.equal(choice.finish_reason, "stop");
  assert.deepEqual(animal.parse(choice.message.parsed), choice.message.parsed);
  assert.ok(snapshots.length > 5, `${snapshots.length} deltas`);
});

test("errors become the SDK's own error classes, with a helpful message", async () => {
  const messages = [{ role: "user" as const, content: "hello" }];
  await assert.rejects(openai.chat.completions.create({ model: "no-such-model", messages }), NotFoundError);
  await assert.rejects(
    openai.chat.completions.create({ model: "hone-tiny", messages, top_p: 9 }),
    UnprocessableEntityError,
  );
  await assert.rejects(
    openai.chat.completions.create({
      model: "hone-tiny",
      messages: [{ role: "user", content: "far too long ".repeat(20_000) }],
    }),
    (error) => {
      assert.ok(error instanceof BadRequestError);
      assert.match(error.message, /context length/);
      return true;
    },
  );
  await assert.rejects(
    new OpenAI({ baseURL: `${server().url}/v1`, apiKey: "wrong", maxRetries: 0 }).models.list(),
    AuthenticationError,
  );
});
