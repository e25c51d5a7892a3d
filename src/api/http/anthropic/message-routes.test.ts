// Anthropic's Messages API over HTTP: complete answers, streamed events in order, credentials, and errors in
// Anthropic's format. The fake server also checks every answer against its documented schema.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { ServiceError, type ErrorCode } from "../../../base/domain/service-error.ts";
import { fakeServer, keys, registeredModel } from "../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;

const headers = { "x-api-key": keys.member, "anthropic-version": "2023-06-01" };
const hi = { messages: [{ role: "user", content: "Hi" }], max_tokens: 2 };

function ask(server: Server, body: object, url = "/v1/messages") {
  return server.ask({ method: "POST", url, headers: { ...headers, "x-request-id": "r" }, payload: body });
}

interface SentEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Returns the events of a stream; asserts that each event's name is its type. */
function eventsOf(body: string): readonly SentEvent[] {
  const blocks = body.split("\n\n");
  assert.equal(blocks.pop(), "");
  return blocks.map((block) => {
    const [name = "", data = "", ...rest] = block.split("\n");
    const event = JSON.parse(data.replace(/^data: /, "")) as SentEvent;
    assert.deepEqual([name, rest], [`event: ${event.type}`, []]);
    return event;
  });
}

async function streamed(server: Server, body: object = {}): Promise<readonly SentEvent[]> {
  const answer = await ask(server, { ...hi, ...body, stream: true });
  assert.match(String(answer.headers["content-type"]), /^text\/event-stream/);
  return eventsOf(answer.body);
}

const usage = (output: number, thinking = 0) => ({
  input_tokens: 1,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 2,
  cache_creation: null,
  output_tokens: output,
  output_tokens_details: { thinking_tokens: thinking },
  server_tool_use: null,
  service_tier: "standard",
  inference_geo: null,
  speed: null,
});

const message = (members: object) => ({
  id: "msg_r",
  type: "message",
  role: "assistant",
  model: "tiny",
  content: [],
  stop_reason: null,
  stop_sequence: null,
  stop_details: null,
  container: null,
  diagnostics: null,
  usage: usage(0),
  ...members,
});

test("answers with a text message, complete and as streamed events", async () => {
  const server = await fakeServer();
  const answer = await ask(server, hi);
  const text = { type: "text", text: "Hello", citations: null };
  assert.deepEqual(answer.json(), message({ content: [text], stop_reason: "end_turn", usage: usage(2) }));
  assert.equal(answer.headers["request-id"], "r");
  assert.deepEqual(await streamed(server), [
    { type: "message_start", message: message({}) },
    { type: "ping" },
    { type: "content_block_start", index: 0, content_block: { ...text, text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "lo" } },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null, stop_details: null, container: null },
      usage: usage(2),
    },
    { type: "message_stop" },
  ]);
  await server.close();
});

test("puts reasoning, text and tool calls into separate blocks, in order", async () => {
  const server = await fakeServer();
  server.chat.script.finish = "tool_calls";
  server.chat.script.pieces = [
    { reasoning: "Hm" },
    { reasoning: "m." },
    { text: "Let me see." },
    { toolCalls: [{ index: 0, id: "call_1", name: "f", argumentsText: '{"a"' }] },
    {
      toolCalls: [
        { index: 0, argumentsText: ":12345678901234567890}" },
        { index: 1, id: "call_2", name: "g", argumentsText: "" },
      ],
    },
  ];
  const signature = createHash("sha256").update("Hmm.").digest("base64");
  const call = (id: string, name: string) => ({
    type: "tool_use",
    id,
    name,
    input: {},
    caller: { type: "direct" },
  });
  const whole = await ask(server, { ...hi, max_tokens: 9 });
  const content = [
    { type: "thinking", thinking: "Hmm.", signature },
    { type: "text", text: "Let me see.", citations: null },
    // The answer contains all digits that the model wrote; only `JSON.parse` rounds them to a JavaScript number.
    { ...call("call_1", "f"), input: { a: Number("12345678901234567890") } },
    call("call_2", "g"),
  ];
  assert.deepEqual(whole.json(), message({ content, stop_reason: "tool_use", usage: usage(5, 2) }));
  assert.match(whole.body, /"input":\{"a":12345678901234567890\}/);
  const delta = (index: number, type: string, member: object) => ({
    type: "content_block_delta",
    index,
    delta: { type, ...member },
  });
  const start = (index: number, block: object) => ({
    type: "content_block_start",
    index,
    content_block: block,
  });
  const stop = (index: number) => ({ type: "content_block_stop", index });
  assert.deepEqual((await streamed(server)).slice(2, -2), [
    start(0, { type: "thinking", thinking: "", signature: "" }),
    delta(0, "thinking_delta", { thinking: "Hm" }),
    delta(0, "thinking_delta", { thinking: "m." }),
    delta(0, "signature_delta", { signature }),
    stop(0),
    start(1, { type: "text", text: "", citations: null }),
    delta(1, "text_delta", { text: "Let me see." }),
    stop(1),
    start(2, call("call_1", "f")),
    delta(2, "input_json_delta", { partial_json: '{"a"' }),
    delta(2, "input_json_delta", { partial_json: ":12345678901234567890}" }),
    stop(2),
    start(3, call("call_2", "g")),
    stop(3),
  ]);
  await server.close();
});

test("reports why the message ended: end of turn, stop sequence, max_tokens, full context or tool call", async () => {
  const server = await fakeServer();
  const reasons = async (body: object = {}): Promise<readonly unknown[]> => {
    const { stop_reason, stop_sequence } = (await ask(server, { ...hi, ...body })).json<{
      readonly stop_reason: string;
      readonly stop_sequence: string | null;
    }>();
    const [delta] = (await streamed(server, body)).filter(({ type }) => type === "message_delta");
    assert.deepEqual(Object.values(Object(delta["delta"])).slice(0, 2), [stop_reason, stop_sequence]);
    return [stop_reason, stop_sequence];
  };
  assert.deepEqual(await reasons(), ["end_turn", null]);
  server.chat.script.matchedStop = "###";
  assert.deepEqual(await reasons({ stop_sequences: ["###"] }), ["stop_sequence", "###"]);
  server.chat.script.matchedStop = null;
  server.chat.script.finish = "length";
  assert.deepEqual(await reasons({ max_tokens: 2 }), ["max_tokens", null]);
  assert.deepEqual(await reasons({ max_tokens: 3 }), ["model_context_window_exceeded", null]);
  // Every tool call sets the stop reason `tool_use` in the Messages API. The finish reason of a chat completion stays
  // `stop` if the tool call was required.
  server.chat.script.finish = "stop";
  server.chat.script.pieces = [{ toolCalls: [{ index: 0, id: "c", name: "f", argumentsText: "{}" }] }];
  assert.deepEqual(await reasons(), ["tool_use", null]);
  await server.close();
});

test("keeps the partial arguments of a truncated call, and answers without blocks if the model wrote nothing", async () => {
  const server = await fakeServer();
  server.chat.script.finish = "length";
  server.chat.script.pieces = [{ toolCalls: [{ index: 0, id: "c", name: "f", argumentsText: '{"a' }] }];
  const cut = (await ask(server, { ...hi, max_tokens: 1 })).json<{ content: readonly { input: object }[] }>();
  assert.deepEqual(cut.content[0].input, { INVALID_JSON: '{"a' });
  server.chat.script.pieces = [{ text: "" }];
  assert.deepEqual((await ask(server, hi)).json<{ content: unknown }>().content, []);
  assert.deepEqual(
    (await streamed(server)).map(({ type }) => type),
    ["message_start", "ping", "message_delta", "message_stop"],
  );
  await server.close();
});

test("keeps a silent stream alive with pings, even before the message starts", async () => {
  const clock = new FakeClock();
  let open = (): void => undefined;
  const server = await fakeServer({ clock, settings: { keepAliveSeconds: 5 } });
  server.chat.script.opens = new Promise((resolve) => (open = resolve));
  const isSeen = server.chat.nextSeen();
  const answered = streamed(server);
  await isSeen;
  for (let second = 0; second < 30; second++) {
    await clock.advance(1000);
    await setImmediate();
  }
  open();
  const types = (await answered).map(({ type }) => type);
  assert.ok(types.indexOf("message_start") >= 1, types.join());
  assert.ok(types.slice(0, types.indexOf("message_start")).every((type) => type === "ping"));
  await server.close();
});

test("accepts a key in x-api-key or in Authorization, which takes precedence, and any anthropic-beta", async () => {
  const server = await fakeServer();
  const status = async (sent: Readonly<Record<string, string>>): Promise<number> =>
    (await server.ask({ method: "POST", url: "/v1/messages?beta=true", headers: sent, payload: hi }))
      .statusCode;
  const beta = { "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14" };
  assert.equal(await status({ ...headers, ...beta }), 200);
  assert.equal(await status({ "x-api-key": keys.member }), 200);
  assert.equal(await status({ authorization: `Bearer ${keys.member}` }), 200);
  assert.equal(await status({ authorization: "Bearer hone_nope", "x-api-key": keys.member }), 401);
  for (const key of ["hone_nope", "", `${keys.member} x`])
    assert.equal(await status({ "x-api-key": key }), 401);
  const { caller } = server.chat.seen[0] ?? {};
  assert.equal(caller?.entity, "acme");
  // Feedback routes require Basic credentials and ignore x-api-key.
  const feedback = await server.ask({ method: "POST", url: "/feedback/create", headers, payload: {} });
  assert.equal(feedback.statusCode, 401);
  await server.close();
});

test("sends errors in Anthropic's format: before an answer with its statuses, and as events in a stream", async () => {
  const server = await fakeServer();
  const table: Readonly<Record<ErrorCode, readonly [number, string]>> = {
    invalid: [400, "invalid_request_error"],
    unsupported: [400, "invalid_request_error"],
    unauthorized: [401, "authentication_error"],
    forbidden: [403, "permission_error"],
    not_found: [404, "not_found_error"],
    conflict: [409, "conflict_error"],
    too_large: [413, "request_too_large"],
    too_slow: [408, "timeout_error"],
    overloaded: [429, "rate_limit_error"],
    full: [429, "rate_limit_error"],
    unavailable: [529, "overloaded_error"],
    cancelled: [503, "api_error"],
    timeout: [504, "timeout_error"],
    internal: [500, "api_error"],
  };
  for (const [code, [status, type]] of Object.entries(table)) {
    server.chat.script.refusal = new ServiceError({ code: code as ErrorCode, message: "No." });
    for (const stream of [false, true]) {
      const answer = await ask(server, { ...hi, stream });
      const { type: kind, error, request_id: id } = answer.json<ErrorEvent>();
      assert.deepEqual([answer.statusCode, kind, error.type, id], [status, "error", type, "r"]);
      assert.ok(status >= 500 || error.message === "No.", error.message);
    }
  }
  server.chat.script.refusal = null;
  server.chat.script.failure = new ServiceError({ code: "unauthorized", message: "Revoked." });
  const last = (await streamed(server)).at(-1) as unknown as ErrorEvent;
  assert.deepEqual([last.type, last.error.type, last.request_id], ["error", "authentication_error", "r"]);
  await server.close();
});

interface ErrorEvent {
  readonly type: string;
  readonly error: { readonly type: string; readonly message: string; readonly param: string | null };
  readonly request_id: string;
}

test("names the field of an error as the client sent it, also without the anthropic-version header", async () => {
  const server = await fakeServer();
  const faults = [
    { location: ["prompt", "messages", "1", "content", "1"], message: "a", type: "unsupported" },
    { location: ["stopping", "stop"], message: "`stopping.stop` is b", type: "unsupported" },
    { location: ["sampling", "processors"], message: "c", type: "unsupported" },
    { location: ["constraint"], message: "d", type: "unsupported" },
  ];
  server.chat.script.refusal = new ServiceError({ code: "unsupported", faults });
  const answer = await server.ask({
    method: "POST",
    url: "/v1/messages",
    headers: { authorization: `Bearer ${keys.member}` },
    payload: {
      max_tokens: 1,
      system: "s",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "x" },
            { type: "text", text: "y" },
          ],
        },
      ],
      output_config: { format: { type: "json_schema", schema: {} } },
      thinking: { type: "enabled", budget_tokens: 10 },
    },
  });
  const { type, detail } = answer.json<ErrorEvent & { detail: readonly { loc: string[]; msg: string }[] }>();
  assert.deepEqual([answer.statusCode, type], [400, "error"]);
  assert.deepEqual(
    detail.map(({ loc, msg }) => [loc.join("."), msg]),
    [
      ["body.messages.0.content.1", "a"],
      ["body.stop_sequences", "stop_sequences is b"],
      ["body.thinking.budget_tokens", "c"],
      ["body.output_config.format", "d"],
    ],
  );
  const wrongMethod = await server.app.inject({ method: "GET", url: "/v1/messages", headers });
  assert.deepEqual(
    [wrongMethod.statusCode, wrongMethod.json<ErrorEvent>().error.type],
    [405, "invalid_request_error"],
  );
  await server.close();
});

test("counts the tokens of a prompt, and reports ignored fields", async () => {
  const server = await fakeServer();
  const counted = await ask(server, hi, "/v1/messages/count_tokens");
  assert.deepEqual([counted.json(), counted.headers["x-hone-ignored"]], [{ input_tokens: 2 }, "max_tokens"]);
  const refused = await ask(server, { messages: [] }, "/v1/messages/count_tokens");
  assert.deepEqual([refused.statusCode, refused.json<ErrorEvent>().error.param], [400, "messages"]);
  await server.close();
});

test("lists models in pages, in Anthropic's format if the request has the anthropic-version header", async () => {
  const server = await fakeServer();
  await registeredModel(server);
  const get = async (url: string, sent: Readonly<Record<string, string>> = headers) =>
    (await server.app.inject({ method: "GET", url, headers: sent })).json<{
      readonly object?: string;
      readonly data: readonly { readonly id: string }[];
      readonly has_more: boolean;
      readonly last_id: string | null;
    }>();
  const whole = await get("/v1/models");
  const ids = whole.data.map(({ id }) => id);
  assert.ok(ids.length >= 3 && ids[0] === "tiny", ids.join());
  assert.deepEqual([whole.has_more, whole.last_id], [false, ids.at(-1)]);
  assert.deepEqual(whole.data[0], {
    type: "model",
    id: "tiny",
    display_name: "tiny",
    created_at: Object(whole.data[0]).created_at,
    max_input_tokens: 1024,
    max_tokens: 1024,
    capabilities: null,
    lifecycle: "active",
    deprecated_at: null,
    retires_at: null,
    line: null,
  });
  const pageOf = async (query: string): Promise<readonly unknown[]> => {
    const { data, has_more } = await get(`/v1/models?${query}`);
    return [data.map(({ id }) => id), has_more];
  };
  assert.deepEqual(await pageOf("limit=1"), [ids.slice(0, 1), true]);
  assert.deepEqual(await pageOf(`limit=1&after_id=${ids[0]}`), [ids.slice(1, 2), true]);
  assert.deepEqual(await pageOf(`after_id=${encodeURIComponent(ids[1])}`), [ids.slice(2), false]);
  assert.deepEqual(await pageOf(`limit=1&before_id=${encodeURIComponent(ids[2])}`), [ids.slice(1, 2), true]);
  assert.deepEqual(await pageOf(`after_id=${encodeURIComponent(ids.at(-1) ?? "")}`), [[], false]);
  const strange = await server.app.inject({ method: "GET", url: "/v1/models?after_id=no", headers });
  assert.equal(strange.statusCode, 400);
  assert.deepEqual(await get("/v1/models/tiny"), whole.data[0]);
  const openai = { authorization: `Bearer ${keys.member}` };
  assert.equal((await get("/v1/models", openai)).object, "list");
  assert.equal((await get("/v1/models/tiny", openai)).object, "model");
  await server.close();
});
