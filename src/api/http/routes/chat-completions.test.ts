import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { bearer, fakeServer, helloBody, keys } from "../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;

async function ask(server: Server, body: object, url = "/v1/chat/completions") {
  return server.ask({
    method: "POST",
    url,
    headers: { authorization: bearer() },
    payload: { ...helloBody, ...body },
  });
}

/** Requests a stream and returns its parsed events. Asserts that the answer is a stream and ends correctly. */
async function askStream(server: Server, body: object): Promise<readonly Record<string, unknown>[]> {
  const answer = await ask(server, { ...body, stream: true });
  assert.equal(answer.statusCode, 200, answer.body);
  assert.equal(answer.headers["content-type"], "text/event-stream; charset=utf-8");
  const events = answer.body.split("\n\n");
  assert.equal(events.pop(), "");
  assert.equal(events.pop(), "data: [DONE]");
  return events.map((event) => {
    assert.ok(event.startsWith("data: "));
    return JSON.parse(event.slice("data: ".length)) as Record<string, unknown>;
  });
}

function choicesOf(chunk: Record<string, unknown> | undefined): readonly Record<string, unknown>[] {
  assert.ok(chunk !== undefined && Array.isArray(chunk["choices"]));
  return chunk["choices"] as readonly Record<string, unknown>[];
}

const message = {
  role: "assistant",
  content: "Hello",
  refusal: null,
  annotations: null,
  audio: null,
  function_call: null,
  tool_calls: [],
  reasoning: null,
  reasoning_content: null,
};
const finish = { finish_reason: "stop", stop_reason: null, matched_stop: null };
const usage = (prompt: number, completion: number) => ({
  prompt_tokens: prompt,
  total_tokens: prompt + completion,
  completion_tokens: completion,
  prompt_tokens_details: { cached_tokens: 2 },
});
const text = (token: string, id: number) => ({
  token: `token_id:${id}`,
  logprob: -0.5,
  bytes: [...Buffer.from(token)],
});

test("returns a complete answer with every declared field, at both spellings of the path", async () => {
  const server = await fakeServer();
  for (const url of ["/v1/chat/completions", "/v1/chat/completions/"]) {
    const answer = await ask(server, { request_id: "r1", model: "m" }, url);
    assert.equal(answer.statusCode, 200);
    assert.deepEqual(answer.json(), {
      id: "chatcmpl-r1",
      request_id: "r1",
      object: "chat.completion",
      created: 1_700_000_000,
      model: "m",
      choices: [{ index: 0, message, logprobs: null, ...finish, token_ids: null }],
      service_tier: "default",
      system_fingerprint: "tiny@base+test",
      usage: usage(3, 2),
      prompt_logprobs: null,
      prompt_token_ids: null,
      kv_transfer_params: null,
    });
  }
  await server.close();
});

test("returns the data that `logprobs`, `top_logprobs` and `return_token_ids` ask for", async () => {
  const server = await fakeServer();
  const answer = (await ask(server, { logprobs: true, top_logprobs: 2, return_token_ids: true, n: 2 })).json<{
    choices: readonly Record<string, unknown>[];
  }>();
  assert.equal(answer.choices.length, 2);
  assert.deepEqual((answer as unknown as Record<string, unknown>)["prompt_token_ids"], [1, 2, 3]);
  const [first, second] = answer.choices;
  assert.deepEqual(first?.["token_ids"], [10, 11]);
  assert.equal(second?.["index"], 1);
  assert.equal(Object.hasOwn(first ?? {}, "prompt_token_ids"), false);
  assert.deepEqual(first?.["logprobs"], {
    content: [
      {
        token: "Hel",
        logprob: -0.5,
        bytes: [72, 101, 108],
        top_logprobs: [
          { token: "Hel", logprob: -0.5, bytes: [] },
          { token: "other1", logprob: -9999, bytes: [] },
        ],
      },
      {
        token: "lo",
        logprob: -0.5,
        bytes: [108, 111],
        top_logprobs: [
          { token: "lo", logprob: -0.5, bytes: [] },
          { token: "other1", logprob: -9999, bytes: [] },
        ],
      },
    ],
    refusal: null,
  });
  await server.close();
});

test("returns the training data of a trained model's choices even if it is not requested", async () => {
  const server = await fakeServer();
  server.chat.script.isTrained = true;
  const answer = (await ask(server, {})).json<Record<string, unknown>>();
  assert.equal(answer["prompt_token_ids"], null);
  const logprobs = {
    content: [
      { ...text("Hel", 10), top_logprobs: [] },
      { ...text("lo", 11), top_logprobs: [] },
    ],
    refusal: null,
  };
  assert.deepEqual(answer["choices"], [
    { index: 0, message, logprobs, ...finish, token_ids: [10, 11], prompt_token_ids: [1, 2, 3] },
  ]);
  await server.close();
});

test("writes tokens as ids with `return_tokens_as_token_ids`", async () => {
  const server = await fakeServer();
  const answer = await ask(server, { logprobs: true, return_tokens_as_token_ids: true });
  assert.match(answer.body, /"token":"token_id:10"/);
  await server.close();
});

test("streams an opening chunk for each choice, deltas, the finish with an empty delta, then the usage", async () => {
  const server = await fakeServer();
  const chunks = await askStream(server, { n: 2, request_id: "r", stream_options: { include_usage: true } });
  const head = {
    id: "chatcmpl-r",
    request_id: "r",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: "tiny",
    service_tier: "default",
    system_fingerprint: "tiny@base+test",
  };
  const opening = (index: number) => ({
    index,
    delta: { role: "assistant", content: "", reasoning_content: null },
    logprobs: null,
    finish_reason: null,
  });
  const chunk = (index: number, delta: object, end: object) => ({
    ...head,
    choices: [{ index, delta, logprobs: null, ...end, token_ids: null }],
  });
  const delta = (index: number, content: string) =>
    chunk(index, { content, reasoning_content: null }, { finish_reason: null });
  assert.deepEqual(chunks, [
    { ...head, choices: [opening(0)], prompt_token_ids: null },
    { ...head, choices: [opening(1)], prompt_token_ids: null },
    delta(0, "Hel"),
    delta(1, "Hel"),
    delta(0, "lo"),
    chunk(0, {}, finish),
    delta(1, "lo"),
    chunk(1, {}, finish),
    { ...head, choices: [], usage: usage(3, 4) },
  ]);
  await server.close();
});

test("streams token ids and log-probabilities chunk by chunk, and the prompt's token ids only in the first chunk", async () => {
  const server = await fakeServer();
  server.chat.script.isTrained = true;
  const [opening, first] = await askStream(server, { return_token_ids: true });
  assert.deepEqual(opening?.["prompt_token_ids"], [1, 2, 3]);
  assert.equal(Object.hasOwn(first ?? {}, "prompt_token_ids"), false);
  const [openedChoice] = choicesOf(opening);
  assert.deepEqual(openedChoice?.["prompt_token_ids"], [1, 2, 3]);
  const [choice] = choicesOf(first);
  assert.deepEqual(choice?.["token_ids"], [10]);
  assert.deepEqual(choice?.["logprobs"], {
    content: [{ ...text("Hel", 10), top_logprobs: [] }],
    refusal: null,
  });
  await server.close();
});

test("puts echoed text before each choice's text; in a stream, in a separate chunk", async () => {
  const server = await fakeServer();
  server.chat.script.echo = "Say ";
  const answer = (await ask(server, { echo: true, n: 2, return_token_ids: true })).json<{
    choices: readonly { message: { content: string }; token_ids: readonly number[] }[];
    usage: object;
  }>();
  for (const { message: said, token_ids: ids } of answer.choices)
    assert.deepEqual([said.content, ids], ["Say Hello", [10, 11]]);
  assert.deepEqual(answer.usage, usage(3, 4));
  const options = { include_usage: true, continuous_usage_stats: true };
  const chunks = await askStream(server, { echo: true, n: 2, stream_options: options });
  const echoed = (index: number) => ({
    index,
    delta: { content: "Say ", reasoning_content: null },
    logprobs: null,
    finish_reason: null,
  });
  assert.deepEqual(
    chunks.slice(2, 4).map((chunk) => [chunk["choices"], chunk["usage"]]),
    [0, 1].map((index) => [[echoed(index)], usage(3, 0)]),
  );
  assert.deepEqual(
    chunks.map((chunk) => choicesOf(chunk).map(({ index, delta }) => [index, delta])).slice(4, 6),
    [0, 1].map((index) => [[index, { content: "Hel", reasoning_content: null }]]),
  );
  assert.equal(chunks.filter((chunk) => Object.hasOwn(chunk, "prompt_token_ids")).length, 2);
  await server.close();
});

const thinking = [
  { reasoning: "Hm" },
  { reasoning: "." },
  { text: "Well" },
  { toolCalls: [{ index: 0, id: "c0", name: "f", argumentsText: '{"x"' }] },
  {
    toolCalls: [
      { index: 0, argumentsText: ":1}" },
      { index: 1, id: "c1", name: "g", argumentsText: "{}" },
    ],
  },
];

test("joins reasoning and tool calls in a complete answer", async () => {
  const server = await fakeServer();
  server.chat.script.pieces = thinking;
  server.chat.script.finish = "tool_calls";
  const answer = (await ask(server, {})).json<Record<string, unknown>>();
  const [choice] = choicesOf(answer);
  const calls = [
    { id: "c0", type: "function", function: { name: "f", arguments: '{"x":1}' } },
    { id: "c1", type: "function", function: { name: "g", arguments: "{}" } },
  ];
  const thought = { reasoning: "Hm.", reasoning_content: "Hm." };
  assert.deepEqual(choice?.["message"], { ...message, content: "Well", tool_calls: calls, ...thought });
  assert.equal(choice?.["finish_reason"], "tool_calls");
  server.chat.script.pieces = thinking.slice(3);
  const [silent] = choicesOf((await ask(server, {})).json<Record<string, unknown>>());
  assert.deepEqual(silent?.["message"], { ...message, content: null, tool_calls: calls });
  await server.close();
});

test("streams reasoning and tool calls piece by piece, naming each call once", async () => {
  const server = await fakeServer();
  server.chat.script.pieces = thinking;
  server.chat.script.finish = "tool_calls";
  const chunks = await askStream(server, {});
  const deltas = chunks.slice(1).map((chunk) => choicesOf(chunk)[0]?.["delta"]);
  const thought = (text: string) => ({ content: null, reasoning: text, reasoning_content: text });
  assert.deepEqual(deltas, [
    thought("Hm"),
    thought("."),
    { content: "Well", reasoning_content: null },
    {
      content: null,
      reasoning_content: null,
      tool_calls: [{ index: 0, id: "c0", type: "function", function: { name: "f", arguments: '{"x"' } }],
    },
    {
      content: null,
      reasoning_content: null,
      tool_calls: [
        { index: 0, function: { arguments: ":1}" } },
        { index: 1, id: "c1", type: "function", function: { name: "g", arguments: "{}" } },
      ],
    },
    {},
  ]);
  const finishes = chunks.map((chunk) => choicesOf(chunk)[0]?.["finish_reason"]);
  assert.deepEqual(
    finishes.slice(0, -1).filter((reason) => reason !== null),
    [],
  );
  assert.equal(choicesOf(chunks.at(-1))[0]?.["finish_reason"], "tool_calls");
  await server.close();
});

test("counts only the tokens of the chunk's choice with `stream_options.continuous_usage_stats`", async () => {
  const server = await fakeServer();
  const options = { include_usage: true, continuous_usage_stats: true };
  const chunks = await askStream(server, { n: 2, stream_options: options });
  const counts = chunks.map((chunk) => (chunk["usage"] as { completion_tokens: number }).completion_tokens);
  assert.deepEqual(counts, [0, 0, 1, 1, 2, 2, 2, 2, 4]);
  await server.close();
});

/**
 * Requests a stream, and lets more than two keep-alive intervals pass before the completion begins or fails. Returns
 * the text of the stream.
 */
async function askLate(refusal: Error | null): Promise<string> {
  const clock = new FakeClock();
  const server = await fakeServer({ clock });
  const { script } = server.chat;
  let open = (): void => undefined;
  script.opens = new Promise((resolve) => (open = resolve));
  script.refusal = refusal;
  const answer = ask(server, { stream: true });
  await clock.advance(25_000);
  open();
  const { statusCode, body } = await answer;
  assert.equal(statusCode, 200);
  await server.close();
  return body;
}

test("begins a stream during a long silence, and keeps it alive", async () => {
  const [comment, role, ...rest] = (await askLate(null)).split("\n\n");
  assert.equal(comment, ": keep-alive");
  assert.match(role ?? "", /^data: .*"role":"assistant"/);
  assert.deepEqual([rest.length, rest.at(-2), rest.at(-1)], [5, "data: [DONE]", ""]);
});

test("sends an error as an event if the stream began during a long silence", async () => {
  const error = new ServiceError({ code: "unsupported", message: "The prompt has 9 tokens." });
  const [comment, event, ...rest] = (await askLate(error)).split("\n\n");
  assert.equal(comment, ": keep-alive");
  assert.match(event ?? "", /^data: .*"The prompt has 9 tokens\.".*"code":"unsupported"/);
  assert.deepEqual(rest, ["data: [DONE]", ""]);
});

test("answers an error before the first token with its status, even if a stream was requested", async () => {
  const server = await fakeServer();
  server.chat.script.refusal = new ServiceError({ code: "unsupported", message: "The prompt has 9 tokens." });
  const answer = await ask(server, { stream: true });
  assert.equal(answer.statusCode, 400);
  assert.deepEqual(answer.json<{ detail: unknown }>().detail, [
    { loc: ["body"], msg: "The prompt has 9 tokens.", type: "unsupported" },
  ]);
  await server.close();
});

test("refuses an unknown model, and locates the fault at the model field", async () => {
  const server = await fakeServer();
  const fault = { location: ["model"], message: "There is none.", type: "value_error" };
  server.chat.script.refusal = new ServiceError({
    code: "not_found",
    message: "There is none.",
    faults: [fault],
  });
  const answer = await ask(server, { model: "gone" });
  assert.equal(answer.statusCode, 404);
  assert.deepEqual(answer.json<{ detail: unknown }>().detail, [
    { loc: ["body", "model"], msg: "There is none.", type: "value_error" },
  ]);
  await server.close();
});

test("sends an error during a stream as one event with the error body, then [DONE]", async () => {
  const server = await fakeServer();
  server.chat.script.failure = new Error("secret");
  const chunks = await askStream(server, {});
  assert.equal(chunks.length, 3);
  const { error, detail } = chunks[2] as { error: { message: string; code: string }; detail: unknown };
  assert.equal(error.code, "internal");
  assert.doesNotMatch(error.message, /secret/);
  assert.deepEqual(detail, []);
  await server.close();
});

test("answers with an error, never with a partial answer, if generation fails", async () => {
  const server = await fakeServer();
  server.chat.script.failure = new ServiceError({ code: "unavailable", message: "engine died" });
  assert.equal((await ask(server, {})).statusCode, 503);
  await server.close();
});

test("aborts generation when the client disconnects, for streams and complete answers", async () => {
  const server = await fakeServer();
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  server.chat.script.hangs = true;
  for (const stream of [true, false]) {
    const gone = new AbortController();
    const aborted = new Promise<void>((resolve) => (server.chat.onAbort = resolve));
    const answer = fetch(`${server.app.listeningOrigin}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: bearer(), "content-type": "application/json" },
      body: JSON.stringify({ ...helloBody, stream }),
      signal: gone.signal,
    });
    if (stream) await (await answer).body?.getReader().read();
    else await server.chat.nextSeen();
    const refused = stream ? Promise.resolve() : assert.rejects(answer, { name: "AbortError" });
    gone.abort();
    await Promise.all([aborted, refused]);
  }
  assert.equal(server.chat.abortedCount, 2);
  await server.close();
});

test("passes the caller to the chat service, and names unknown fields in a header", async () => {
  const server = await fakeServer();
  const answer = await server.ask({
    method: "POST",
    url: "/v1/chat/completions",
    headers: { authorization: bearer(keys.member) },
    payload: { ...helloBody, store: true, "x\r\ny": 1 },
  });
  assert.equal(answer.headers["x-hone-ignored"], "x??y");
  assert.deepEqual(server.chat.seen.at(-1)?.caller, {
    keyId: "member",
    entity: "acme",
    role: "member",
    owner: "member-owner",
    scopes: null,
    project: null,
  });
  await server.close();
});

test("interrupts running answers with an error when the server closes", async () => {
  const server = await fakeServer();
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  server.chat.script.hangs = true;
  const stream = await fetch(`${server.app.listeningOrigin}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: bearer(), "content-type": "application/json" },
    body: JSON.stringify({ ...helloBody, stream: true }),
  });
  const seen = server.chat.nextSeen();
  const whole = ask(server, {});
  await seen;
  await server.app.close();
  assert.match(await stream.text(), /"code":"unavailable"\}\}\n\ndata: \[DONE\]\n\n$/);
  assert.equal((await whole).statusCode, 503);
});

test("ends running requests of a key when its revocation is announced", async () => {
  const clock = new FakeClock();
  const server = await fakeServer({ clock });
  server.chat.script.hangs = true;
  const seen = server.chat.nextSeen();
  const answer = server.ask({
    method: "POST",
    url: "/v1/chat/completions",
    headers: { authorization: bearer(keys.member) },
    payload: helloBody,
  });
  void answer.then(() => undefined);
  await seen;
  await server.keyStore.revoke("member", clock.now());
  await clock.advance(0);
  assert.equal((await answer).statusCode, 401);
  const closed = server.close();
  await clock.advance(2000);
  await closed;
});

test("ends running requests of a revoked key within a second, but no others", async () => {
  const clock = new FakeClock();
  const server = await fakeServer({ clock });
  server.chat.script.hangs = true;
  const begin = async (key: string, isStream: boolean, path = "chat/completions", more: object = {}) => {
    const seen = server.chat.nextSeen();
    const answer = server.ask({
      method: "POST",
      url: `/v1/${path}`,
      headers: { authorization: bearer(key) },
      payload: { ...helloBody, stream: isStream, ...more },
    });
    // `inject` sends the request only when someone waits for its answer.
    void answer.then(() => undefined);
    await seen;
    return { answer };
  };
  const other = await begin(keys.other, true);
  const stream = await begin(keys.member, true);
  const whole = await begin(keys.member, false);
  const text = await begin(keys.member, true, "completions", { prompt: "Hi" });
  const response = await begin(keys.member, true, "responses", { input: "Hi" });
  await clock.advance(1000);
  assert.equal(server.chat.abortedCount, 0);
  await server.keyStore.revoke("member", clock.now());
  await clock.advance(1000);
  for (const { answer } of [stream, text])
    assert.match((await answer).body, /"code":"unauthorized"\}\}\n\ndata: \[DONE\]\n\n$/);
  assert.match((await stream.answer).body, /This key was revoked/);
  assert.match((await response.answer).body, /This key was revoked/);
  assert.equal((await whole.answer).statusCode, 401);
  assert.equal(server.chat.abortedCount, 4);
  const closed = server.close();
  await clock.advance(2000);
  await closed;
  assert.match((await other.answer).body, /"code":"unavailable"/);
  assert.equal(clock.sleepingCount, 0);
});
