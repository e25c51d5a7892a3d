// The official Anthropic client against a listening server. Tests complete answers, the client's error classes, and
// that the events of a stream add up to the complete answer.
import assert from "node:assert/strict";
import Anthropic, {
  APIError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from "@anthropic-ai/sdk";
import { ServiceError, type ErrorCode } from "../../../base/domain/service-error.ts";
import { keys } from "../testing/fake-server.ts";
import { scriptedServer } from "../testing/scripted-server.ts";

const { server, test } = await scriptedServer();
const client = clientWith({ apiKey: keys.member });

/** Returns a client with only these credentials, even if environment variables contain keys. */
function clientWith(credentials: { readonly apiKey?: string; readonly authToken?: string }): Anthropic {
  const { apiKey = null, authToken = null } = credentials;
  return new Anthropic({ apiKey, authToken, baseURL: server.app.listeningOrigin, maxRetries: 0 });
}

const hello = { model: "tiny", max_tokens: 9, messages: [{ role: "user" as const, content: "Hi" }] };

test("answers requests with either kind of key", async () => {
  for (const one of [client, clientWith({ authToken: keys.member })]) {
    const message = await one.messages.create(hello);
    assert.deepEqual(message.content, [{ type: "text", text: "Hello", citations: null }]);
    assert.deepEqual([message.stop_reason, message.usage.output_tokens], ["end_turn", 2]);
    // oxlint-disable-next-line no-underscore-dangle -- the library's own name for it
    assert.match(message._request_id ?? "", /^[0-9a-f-]{36}$/);
  }
});

test("streams events that add up to the complete message", async () => {
  server.chat.script.pieces = [
    { reasoning: "Hmm." },
    { text: "Let me see." },
    { toolCalls: [{ index: 0, id: "c", name: "f", argumentsText: '{"a"' }] },
    { toolCalls: [{ index: 0, argumentsText: ":[1,2]}" }] },
  ];
  const whole = await client.messages.create(hello);
  const seen: string[] = [];
  const stream = client.messages
    .stream(hello)
    .on("text", (delta) => seen.push(delta))
    .on("thinking", (delta) => seen.push(delta))
    .on("signature", (signature) => seen.push(signature))
    .on("inputJson", (delta) => seen.push(delta))
    .on("contentBlock", ({ type }) => seen.push(type));
  // The client library adds the member `parsed_output` to the message, which the server does not send.
  const { id, parsed_output: _, ...final } = await stream.finalMessage();
  assert.match(id, /^msg_/);
  assert.deepEqual({ ...JSON.parse(JSON.stringify(final)), id: whole.id }, whole);
  const [thought] = whole.content;
  assert.ok(thought.type === "thinking");
  assert.deepEqual(seen, [
    "Hmm.",
    thought.signature,
    "thinking",
    "Let me see.",
    "text",
    '{"a"',
    ":[1,2]}",
    "tool_use",
  ]);
});

test("throws an error in a stream at the stream's reader, with the error's type", async () => {
  server.chat.script.failure = new ServiceError({ code: "unavailable", message: "x" });
  const stream = await client.messages.create({ ...hello, stream: true });
  await assert.rejects(
    async () => {
      for await (const { type } of stream) assert.notEqual(type, "message_stop");
    },
    (error) => error instanceof APIError && error.type === "overloaded_error",
  );
});

test("throws each error as the class for its status, with its type and message", async () => {
  const table: readonly (readonly [ErrorCode, new (...parts: never[]) => APIError, string])[] = [
    ["unsupported", BadRequestError, "invalid_request_error"],
    ["invalid", BadRequestError, "invalid_request_error"],
    ["forbidden", PermissionDeniedError, "permission_error"],
    ["not_found", NotFoundError, "not_found_error"],
    ["conflict", ConflictError, "conflict_error"],
    ["overloaded", RateLimitError, "rate_limit_error"],
    ["internal", InternalServerError, "api_error"],
    ["timeout", InternalServerError, "timeout_error"],
    ["unavailable", InternalServerError, "overloaded_error"],
  ];
  for (const [code, kind, type] of table) {
    server.chat.script.refusal = new ServiceError({ code, message: "why" });
    await assert.rejects(client.messages.create(hello), (error) => {
      assert.ok(error instanceof kind, `${code}: ${String(error)}`);
      assert.equal(error.type, type);
      assert.match(error.requestID ?? "", /^[0-9a-f-]{36}$/);
      if (Number(error.status) < 500) assert.equal(error.apiMessage, "why");
      return true;
    });
  }
  await assert.rejects(clientWith({ apiKey: "hone_nope" }).messages.create(hello), AuthenticationError);
});

test("counts tokens, and lists models page by page", async () => {
  const { model, messages } = hello;
  assert.deepEqual(await client.messages.countTokens({ model, messages }), { input_tokens: 2 });
  const ids: string[] = [];
  for await (const each of client.models.list({ limit: 1 })) ids.push(each.id);
  assert.deepEqual(ids, ["tiny", "small"]);
  assert.equal((await client.models.retrieve("small")).type, "model");
  await assert.rejects(client.models.retrieve("nothing"), NotFoundError);
});
