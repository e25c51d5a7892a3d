// OpenAI's Responses API over HTTP: complete answers, the events of streams, and refusals. The fake server also checks
// every answer against its documented schema.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { bearer, fakeServer } from "../testing/fake-server.ts";
import type { ErrorBody } from "../errors.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;

function ask(server: Server, body: object) {
  return server.ask({
    method: "POST",
    url: "/v1/responses",
    headers: { authorization: bearer() },
    payload: { input: "Hi", request_id: "r", ...body },
  });
}

interface SentEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly [member: string]: unknown;
}

/**
 * Returns the events of a stream. Asserts that each event's name is its type, and that the events are numbered in
 * order.
 */
function eventsOf(body: string): readonly SentEvent[] {
  const blocks = body.split("\n\n");
  assert.equal(blocks.pop(), "");
  return blocks.map((block, index) => {
    const [name = "", data = "", ...rest] = block.split("\n");
    const event = JSON.parse(data.replace(/^data: /, "")) as SentEvent;
    assert.deepEqual([name, rest, event.sequence_number], [`event: ${event.type}`, [], index]);
    return event;
  });
}

/**
 * Requests a complete answer and a stream for the same body. Asserts that the stream's last event has the same response
 * as the complete answer.
 */
async function bothWays(server: Server, body: object = {}) {
  const whole = (await ask(server, body)).json<Record<string, unknown>>();
  const streamed = await ask(server, { ...body, stream: true });
  assert.match(String(streamed.headers["content-type"]), /^text\/event-stream/);
  const events = eventsOf(streamed.body);
  assert.deepEqual(events.at(-1)?.["response"], whole);
  return { whole, events };
}

/**
 * Removes the events about the whole response (the first two and the last), and the sequence numbers of the other
 * events.
 */
const withoutNumbers = (events: readonly SentEvent[]): readonly object[] =>
  events
    .slice(2, -1)
    .map((event) => Object.fromEntries(Object.entries(event).filter(([name]) => name !== "sequence_number")));

const usage = (output: number, reasoning = 0) => ({
  input_tokens: 3,
  input_tokens_details: { cached_tokens: 2 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: 3 + output,
});

const part = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
const message = (id: string, text: string, status = "completed") => ({
  type: "message",
  id,
  role: "assistant",
  content: [part(text)],
  status,
});

test("answers with a text message, complete and as streamed events", async () => {
  const server = await fakeServer();
  const { whole, events } = await bothWays(server, { metadata: { a: "b" }, instructions: "Be kind." });
  assert.deepEqual(whole, {
    id: "resp_r",
    object: "response",
    created_at: 1_700_000_000,
    status: "completed",
    error: null,
    incomplete_details: null,
    model: "tiny",
    output: [message("msg_r_0", "Hello")],
    instructions: "Be kind.",
    max_output_tokens: null,
    metadata: { a: "b" },
    parallel_tool_calls: true,
    reasoning: { effort: null, summary: null },
    temperature: null,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: null,
    truncation: "disabled",
    user: null,
    background: false,
    previous_response_id: null,
    service_tier: "default",
    store: false,
    usage: usage(2),
  });
  const begun = { ...whole, status: "in_progress", output: [], usage: null };
  assert.deepEqual(
    events.slice(0, 2).map(({ type, response }) => [type, response]),
    [
      ["response.created", begun],
      ["response.in_progress", begun],
    ],
  );
  const at = { item_id: "msg_r_0", output_index: 0 };
  const text = { ...at, content_index: 0 };
  assert.deepEqual(withoutNumbers(events), [
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { type: "message", id: "msg_r_0", role: "assistant", content: [], status: "in_progress" },
    },
    { type: "response.content_part.added", ...text, part: part("") },
    { type: "response.output_text.delta", ...text, delta: "Hel", logprobs: [] },
    { type: "response.output_text.delta", ...text, delta: "lo", logprobs: [] },
    { type: "response.output_text.done", ...text, text: "Hello", logprobs: [] },
    { type: "response.content_part.done", ...text, part: part("Hello") },
    { type: "response.output_item.done", output_index: 0, item: message("msg_r_0", "Hello") },
  ]);
  assert.equal(events.at(-1)?.type, "response.completed");
  await server.close();
});

test("puts reasoning, text and tool calls into separate items, in order", async () => {
  const server = await fakeServer();
  server.chat.script.finish = "tool_calls";
  server.chat.script.pieces = [
    { reasoning: "Hm" },
    { reasoning: "m." },
    { text: "Let me see." },
    { toolCalls: [{ index: 0, id: "call_1", name: "f", argumentsText: '{"a"' }] },
    {
      toolCalls: [
        { index: 0, argumentsText: ":1}" },
        { index: 1, id: "call_2", name: "g", argumentsText: "" },
      ],
    },
    { toolCalls: [{ index: 1, argumentsText: "{}" }] },
  ];
  const { whole, events } = await bothWays(server);
  const thought = [{ type: "reasoning_text", text: "Hmm." }];
  const call = (id: string, callId: string, name: string, text: string) => ({
    type: "function_call",
    id,
    call_id: callId,
    name,
    arguments: text,
    status: "completed",
  });
  const items = [
    { type: "reasoning", id: "rs_r_0", summary: [], content: thought, status: "completed" },
    message("msg_r_1", "Let me see."),
    call("fc_r_2", "call_1", "f", '{"a":1}'),
    call("fc_r_3", "call_2", "g", "{}"),
  ];
  assert.deepEqual([whole["status"], whole["output"], whole["usage"]], ["completed", items, usage(6, 2)]);
  const shown = withoutNumbers(events);
  assert.deepEqual(
    shown.filter((event) => "item" in event && "type" in event && String(event.type).endsWith(".done")),
    items.map((item, index) => ({ type: "response.output_item.done", output_index: index, item })),
  );
  const thinking = { item_id: "rs_r_0", output_index: 0, content_index: 0 };
  assert.deepEqual(shown.slice(1, 6), [
    { type: "response.content_part.added", ...thinking, part: { type: "reasoning_text", text: "" } },
    { type: "response.reasoning_text.delta", ...thinking, delta: "Hm" },
    { type: "response.reasoning_text.delta", ...thinking, delta: "m." },
    { type: "response.reasoning_text.done", ...thinking, text: "Hmm." },
    { type: "response.content_part.done", ...thinking, part: thought[0] },
  ]);
  const first = { item_id: "fc_r_2", output_index: 2 };
  const second = { item_id: "fc_r_3", output_index: 3 };
  const started = call("fc_r_2", "call_1", "f", "");
  assert.deepEqual(shown.slice(-9), [
    { type: "response.output_item.added", output_index: 2, item: { ...started, status: "in_progress" } },
    { type: "response.function_call_arguments.delta", ...first, delta: '{"a"' },
    { type: "response.function_call_arguments.delta", ...first, delta: ":1}" },
    { type: "response.function_call_arguments.done", ...first, name: "f", arguments: '{"a":1}' },
    { type: "response.output_item.done", output_index: 2, item: items[2] },
    {
      type: "response.output_item.added",
      output_index: 3,
      item: { ...call("fc_r_3", "call_2", "g", ""), status: "in_progress" },
    },
    { type: "response.function_call_arguments.delta", ...second, delta: "{}" },
    { type: "response.function_call_arguments.done", ...second, name: "g", arguments: "{}" },
    { type: "response.output_item.done", output_index: 3, item: items[3] },
  ]);
  await server.close();
});

test("marks a truncated answer and its last item as incomplete", async () => {
  const server = await fakeServer();
  server.chat.script.finish = "length";
  const { whole, events } = await bothWays(server, { max_output_tokens: 2 });
  assert.equal(events.at(-1)?.type, "response.incomplete");
  assert.deepEqual(
    [whole["status"], whole["incomplete_details"], whole["output"], whole["max_output_tokens"]],
    ["incomplete", { reason: "max_output_tokens" }, [message("msg_r_0", "Hello", "incomplete")], 2],
  );
  assert.equal(server.chat.seen[0]?.request.stopping.maxTokens, 2);
  await server.close();
});

test("answers with a message without text if the model wrote nothing", async () => {
  const server = await fakeServer();
  server.chat.script.pieces = [{ text: "" }];
  const { whole } = await bothWays(server);
  assert.deepEqual(whole["output"], [message("msg_r_0", "")]);
  await server.close();
});

test("returns log-probabilities with their tokens' text only if requested, even for trained models", async () => {
  const server = await fakeServer();
  server.chat.script.isTrained = true;
  const token = (text: string, bytes: readonly number[]) => ({ token: text, logprob: -0.5, bytes });
  const hel = { ...token("Hel", [72, 101, 108]), top_logprobs: [{ token: "Hel", logprob: -0.5, bytes: [] }] };
  const lo = { ...token("lo", [108, 111]), top_logprobs: [{ token: "lo", logprob: -0.5, bytes: [] }] };
  const { whole, events } = await bothWays(server, { top_logprobs: 1 });
  assert.deepEqual(whole["output"], [
    { ...message("msg_r_0", "Hello"), content: [{ ...part("Hello"), logprobs: [hel, lo] }] },
  ]);
  const deltas = events.filter(({ type }) => type === "response.output_text.delta");
  assert.deepEqual(
    deltas.map(({ logprobs }) => logprobs),
    [[hel], [lo]],
  );
  const { whole: unasked } = await bothWays(server);
  assert.deepEqual(unasked["output"], [message("msg_r_0", "Hello")]);
  await server.close();
});

/**
 * Returns the log-probabilities of one message.
 *
 * @param index index of the message in the response's output
 */
function entriesOf(
  whole: Readonly<Record<string, unknown>>,
  index: number,
): readonly { readonly token: string }[] {
  const output = whole["output"] as readonly {
    readonly content: readonly [{ readonly logprobs: readonly { readonly token: string }[] }];
  }[];
  return output[index].content[0].logprobs;
}

const tokensOf = (entries: readonly { readonly token: string }[]): readonly string[] =>
  entries.map(({ token }) => token);

test("returns one log-probability for each token, even for tokens without text", async () => {
  const server = await fakeServer();
  server.chat.script.pieces = [{ text: "" }, { text: "Hel" }, { text: "" }, { text: "lo" }, { text: "" }];
  const { whole, events } = await bothWays(server, { top_logprobs: 1 });
  const entries = entriesOf(whole, 0);
  assert.deepEqual(tokensOf(entries), ["", "Hel", "", "lo", ""]);
  const deltas = events.filter(({ type }) => type === "response.output_text.delta");
  assert.deepEqual(
    deltas.flatMap(({ logprobs }) => logprobs),
    entries,
  );
  server.chat.script.pieces = [{ text: "" }, { reasoning: "hm" }, { text: "" }, { text: "so" }];
  const thought = await bothWays(server, { top_logprobs: 1 });
  assert.deepEqual(tokensOf(entriesOf(thought.whole, 1)), ["", "so"], "tokens before a thought are of it");
  await server.close();
});

test("answers an error before the first token with its status, and ends a stream with a later one in response.failed", async () => {
  const server = await fakeServer();
  server.chat.script.refusal = new ServiceError({ code: "overloaded", message: "Later." });
  for (const stream of [false, true]) assert.equal((await ask(server, { stream })).statusCode, 429);
  server.chat.script.refusal = null;
  server.chat.script.failure = new ServiceError({ code: "unauthorized", message: "Revoked." });
  assert.equal((await ask(server, {})).statusCode, 401);
  const events = eventsOf((await ask(server, { stream: true })).body);
  const [failed, error] = events.slice(-2);
  assert.equal(failed?.type, "response.failed");
  const { status, error: shown, output } = Object(failed?.["response"]) as Record<string, unknown>;
  assert.deepEqual([status, shown, output], ["failed", { code: "server_error", message: "Revoked." }, []]);
  const { type, code, message: text, param, error: body } = error ?? {};
  assert.deepEqual([type, code, text, param], ["error", "unauthorized", "Revoked.", "authorization"]);
  assert.equal((body as ErrorBody["error"]).type, "authentication_error");
  await server.close();
});

test("locates a fault found by the chat service at the field that the client sent", async () => {
  const server = await fakeServer();
  const faults = [
    { location: ["prompt", "messages", "1", "content", "0"], message: "a", type: "unsupported" },
    { location: ["stopping", "maxTokens"], message: "`stopping.maxTokens` is b", type: "unsupported" },
    { location: ["constraint"], message: "c", type: "unsupported" },
  ];
  server.chat.script.refusal = new ServiceError({ code: "unsupported", faults });
  const answer = await ask(server, {
    instructions: "i",
    input: [{ role: "user", content: [{ type: "input_text", text: "x" }] }],
    text: { format: { type: "json_object" } },
  });
  assert.equal(answer.statusCode, 400);
  assert.deepEqual(
    answer.json<ErrorBody>().detail.map(({ loc, msg }) => [loc.join("."), msg]),
    [
      ["body.input.0.content.0", "a"],
      ["body.max_output_tokens", "max_output_tokens is b"],
      ["body.text.format", "c"],
    ],
  );
  await server.close();
});

test("reports unknown fields as ignored, and refuses stored state", async () => {
  const server = await fakeServer();
  const answer = await ask(server, { nothing: 1 });
  assert.deepEqual([answer.statusCode, answer.headers["x-hone-ignored"]], [200, "nothing"]);
  const refused = await ask(server, { previous_response_id: "resp_1" });
  assert.equal(refused.statusCode, 400);
  assert.match(refused.json<ErrorBody>().error.message, /previous_response_id is not supported/);
  await server.close();
});
