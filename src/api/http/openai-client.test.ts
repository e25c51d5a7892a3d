// The official OpenAI client against a listening server: complete answers, streams, and the client's error classes.
import assert from "node:assert/strict";
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  toFile,
  UnprocessableEntityError,
} from "openai";
import { ServiceError, type ErrorCode } from "../../base/domain/service-error.ts";
import { bearer, fakeServer, keys } from "./testing/fake-server.ts";
import { scriptedServer } from "./testing/scripted-server.ts";

const { server, test } = await scriptedServer();
const client = new OpenAI({
  apiKey: keys.member,
  baseURL: `${server.app.listeningOrigin}/v1`,
  maxRetries: 0,
});

const hello = { model: "tiny", messages: [{ role: "user" as const, content: "Hi" }] };

test("reads complete answers", async () => {
  const answer = await client.chat.completions.create({ ...hello, n: 2, logprobs: true, top_logprobs: 1 });
  assert.deepEqual(
    answer.choices.map(({ message, index }) => [index, message.content]),
    [
      [0, "Hello"],
      [1, "Hello"],
    ],
  );
  assert.equal(answer.choices[0]?.logprobs?.content?.[0]?.top_logprobs[0]?.token, "Hel");
  assert.equal(answer.usage?.total_tokens, 7);
  // oxlint-disable-next-line no-underscore-dangle -- the library's own name for it
  assert.match(answer._request_id ?? "", /^[0-9a-f-]{36}$/);
});

test("reads streams", async () => {
  const stream = await client.chat.completions.create({
    ...hello,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let total = 0;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    total = chunk.usage?.total_tokens ?? total;
  }
  assert.deepEqual([text, total], ["Hello", 5]);
  const runner = client.chat.completions.stream({ ...hello, n: 2 });
  const whole = await runner.finalChatCompletion();
  assert.deepEqual(
    whole.choices.map(({ message }) => message.content),
    ["Hello", "Hello"],
  );
});

test("throws an error in a stream at the stream's reader", async () => {
  server.chat.script.failure = new ServiceError({ code: "unavailable", message: "x" });
  const stream = await client.chat.completions.create({ ...hello, stream: true });
  await assert.rejects(async () => {
    for await (const chunk of stream) assert.ok(chunk.choices.length > 0);
  }, APIError);
});

test("lists models", async () => {
  const ids: string[] = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.deepEqual(ids, ["tiny", "small"]);
});

test("throws each error as the class for its status, with its message, code and field", async () => {
  const table: readonly (readonly [ErrorCode, new (...parts: never[]) => APIError])[] = [
    ["unsupported", BadRequestError],
    ["forbidden", PermissionDeniedError],
    ["not_found", NotFoundError],
    ["conflict", ConflictError],
    ["invalid", UnprocessableEntityError],
    ["overloaded", RateLimitError],
    ["internal", InternalServerError],
    ["unavailable", InternalServerError],
  ];
  for (const [code, type] of table) {
    const fault = { location: ["body", "model"], message: "why", type: "value_error" };
    server.chat.script.refusal = new ServiceError({ code, message: "why", faults: [fault] });
    await assert.rejects(client.chat.completions.create(hello), (error) => {
      assert.ok(error instanceof type, `${code}: ${String(error)}`);
      assert.equal(error.code, code);
      assert.equal(error.param, (error.status ?? 0) >= 500 ? null : "model");
      if ((error.status ?? 0) < 500) assert.match(error.message, /why/);
      return true;
    });
  }
  const stranger = new OpenAI({
    apiKey: "hone_nope",
    baseURL: `${server.app.listeningOrigin}/v1`,
    maxRetries: 0,
  });
  await assert.rejects(stranger.chat.completions.create(hello), AuthenticationError);
});

test("refuses a body over the limit with a message while the client is still sending it", async () => {
  const small = await fakeServer({ settings: { chatBodyBytes: 4096 } });
  await small.app.listen({ host: "127.0.0.1", port: 0 });
  const answer = await fetch(`${small.app.listeningOrigin}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: bearer(), "content-type": "application/json" },
    body: JSON.stringify({ ...hello, user: "x".repeat(4_000_000) }),
  });
  assert.equal(answer.status, 413);
  assert.match(await answer.text(), /4096 bytes/);
  await small.close();
});

test("uploads, lists, reads and deletes files", async () => {
  const text = '{"messages": [{"role": "assistant", "content": "Hi"}]}\n';
  const file = await client.files.create({
    file: await toFile(Buffer.from(text), "train.jsonl"),
    purpose: "fine-tune",
  });
  assert.deepEqual([file.filename, file.bytes, file.purpose], ["train.jsonl", text.length, "fine-tune"]);
  assert.deepEqual(await client.files.retrieve(file.id), file);
  const listed = [];
  for await (const each of client.files.list({ limit: 1 })) listed.push(each.id);
  assert.deepEqual(listed, [file.id]);
  assert.equal(await (await client.files.content(file.id)).text(), text);
  assert.equal((await client.files.delete(file.id)).deleted, true);
  await assert.rejects(client.files.retrieve(file.id), NotFoundError);
});
