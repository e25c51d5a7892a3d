// Tests tool calls and thinking over HTTP. The model has random weights, and its chat template supports both. Where an
// answer's content matters, a constraint determines it.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { zodFunction } from "openai/helpers/zod";
import { z } from "zod";
import { call, serverOfFile } from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

let openai: OpenAI;
const server = serverOfFile({
  flags: toolModel,
  onStart: ({ url, apiKey }) => {
    openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  },
});

const place = {
  type: "object",
  properties: { city: { enum: ["Paris", "Rome"] }, days: { type: "integer", minimum: 1, maximum: 9 } },
  required: ["city", "days"],
  additionalProperties: false,
};
const placeSchema = z.object({ city: z.enum(["Paris", "Rome"]), days: z.number().int().min(1).max(9) });
const tool = (name: string, parameters: object = place, more: object = {}) => ({
  type: "function",
  function: { name, parameters, ...more },
});
const tools = [
  tool("weather"),
  tool("book", { type: "object", properties: {}, additionalProperties: false }),
];
const named = (name: string) => ({ type: "function", function: { name } });
const written =
  'Hm.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Rome", "days": 3}}\n</tool_call>';

interface Message {
  readonly content: string | null;
  readonly reasoning: string | null;
  readonly tool_calls: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

async function ask(body: object, model = "tiny") {
  const messages = [{ role: "user", content: "What will the weather be?" }];
  const answer = await call(server(), "POST", "/v1/chat/completions", {
    body: { model, messages, seed: 5, max_tokens: 200, ...body },
  });
  const choice = answer.status === 200 ? answer.body.choices[0] : null;
  return {
    status: answer.status,
    message: choice?.message as Message,
    finish: choice?.finish_reason as string,
    fault: answer.body.detail?.[0] as { readonly loc: readonly string[]; readonly msg: string } | undefined,
    notice: answer.headers.get("x-hone-notice"),
    tokenCount: answer.body.usage?.completion_tokens as number,
  };
}

test("calls required by `tool_choice`, of any of the `tools` or of a named one, conform to their schema", async () => {
  for (const [choice, finish] of [
    ["required", "tool_calls"],
    [named("weather"), "stop"],
  ] as const) {
    const { message, finish: reason } = await ask({ tools, tool_choice: choice, parallel_tool_calls: false });
    assert.equal(reason, finish);
    assert.equal(message.content, null);
    assert.equal(message.tool_calls.length, 1);
    const [{ id, function: called }] = message.tool_calls;
    assert.match(id, /^chatcmpl-tool-/);
    if (called.name === "weather") placeSchema.strict().parse(JSON.parse(called.arguments));
    else assert.deepEqual([called.name, JSON.parse(called.arguments)], ["book", {}]);
  }
});

test("calls of `tools` are parsed from an answer unless `tool_choice` is none", async () => {
  const own = { tools, structured_outputs: { choice: [written] } };
  for (const choice of [undefined, null, "auto"]) {
    const { message, finish } = await ask({ ...own, tool_choice: choice });
    assert.equal(finish, "tool_calls");
    assert.equal(message.content, "Hm.");
    const [{ function: called }] = message.tool_calls;
    assert.deepEqual(called, { name: "weather", arguments: '{"city": "Rome", "days": 3}' });
  }
  for (const body of [
    { ...own, tool_choice: "none" },
    { ...own, tools: [] },
  ]) {
    const { message, finish } = await ask(body);
    assert.deepEqual([message.content, message.tool_calls, finish], [written, [], "stop"]);
  }
});

test("`parallel_tool_calls` false ends the answer after the first call", async () => {
  const two = `${written}\n${written.slice(4)}`;
  const body = { tools, structured_outputs: { choice: [two] } };
  const both = await ask(body);
  const one = await ask({ ...body, parallel_tool_calls: false });
  assert.deepEqual([both.message.tool_calls.length, one.message.tool_calls.length], [2, 1]);
  assert.equal(one.finish, "tool_calls");
  assert.ok(one.tokenCount < both.tokenCount);
});

test("with `response_format` the answer conforms to it or calls tools", async () => {
  const schema = { ...place, properties: { ...place.properties, city: { const: "Oslo" } } };
  const format = { type: "json_schema", json_schema: { name: "x", schema } };
  for (const seed of [1, 2, 3, 4]) {
    const { message, finish } = await ask({ tools, response_format: format, seed, max_tokens: 1000 });
    if (finish === "tool_calls") assert.ok(message.tool_calls.length > 0);
    else assert.equal((JSON.parse(message.content ?? "") as { readonly city: string }).city, "Oslo");
  }
  const forced = await ask({
    tools,
    response_format: format,
    tool_choice: "required",
    parallel_tool_calls: false,
  });
  assert.equal(forced.message.tool_calls.length, 1);
});

test("strict tools may be called or not, and calls conform to their schema", async () => {
  const strict = [tool("weather", place, { strict: true })];
  const free = await ask({ tools: strict, max_tokens: 30 });
  assert.deepEqual(free.message.tool_calls, []);
  // Token 5 is the marker that begins a call.
  const called = await ask({ tools: strict, logit_bias: { 5: 100 }, parallel_tool_calls: false });
  assert.equal(called.finish, "tool_calls");
  placeSchema.strict().parse(JSON.parse(called.message.tool_calls[0].function.arguments));
});

/** Makes the model think for only a few tokens, by a bias for token 4, which ends a thought. */
const thinking = { chat_template_kwargs: { enable_thinking: true }, logit_bias: { 4: 6 } };

test("thinking is returned separately unless `include_reasoning` is false, and a constraint begins after it", async () => {
  const body = { ...thinking, structured_outputs: { choice: ["Yes.", "No."] } };
  const { message, finish, tokenCount } = await ask(body);
  assert.equal(finish, "stop");
  assert.ok(
    message.reasoning !== null && message.reasoning !== "" && !message.reasoning.includes("</think>"),
  );
  assert.ok(["Yes.", "No."].includes(message.content ?? ""));
  const hidden = await ask({ ...body, include_reasoning: false });
  assert.deepEqual([hidden.message.reasoning, hidden.message.content], [null, message.content]);
  assert.equal(hidden.tokenCount, tokenCount);
  const called = await ask({ ...thinking, tools, tool_choice: "required", parallel_tool_calls: false });
  assert.equal(called.message.tool_calls.length, 1);
  assert.ok(called.message.reasoning !== null);
});

test("an answer whose thought does not end consists only of the thought", async () => {
  const { message, finish } = await ask({ ...thinking, logit_bias: { 4: -100 }, max_tokens: 10 });
  assert.deepEqual([message.content, finish], [null, "length"]);
  assert.ok((message.reasoning ?? "").length > 0);
});

test("a stream sends the thought first, under both of its names, and then the answer", async () => {
  const body = {
    model: "tiny",
    stream: true,
    messages: [{ role: "user", content: "Hm?" }],
    seed: 5,
    ...thinking,
  };
  const { body: lines } = await call(server(), "POST", "/v1/chat/completions", {
    body: { ...body, structured_outputs: { choice: ["Yes."] } },
  });
  const events = String(lines)
    .split("\n")
    .filter((line) => line.startsWith("data: {"));
  const deltas = events.map(
    (line) => JSON.parse(line.slice(6)).choices[0].delta as Record<string, string | null>,
  );
  // Tokens that arrive faster than they are read form one event, which may contain both a thought and text.
  const kinds = deltas.slice(1).flatMap(({ content, reasoning = null, reasoning_content: same = null }) => {
    assert.equal(reasoning, same);
    return [(reasoning ?? "") === "" ? [] : "thought", (content ?? "") === "" ? [] : "text"].flat();
  });
  assert.deepEqual([...new Set(kinds)], ["thought", "text"]);
  assert.equal(deltas.map(({ content }) => content ?? "").join(""), "Yes.");
});

test("a schema that cannot be enforced exactly is refused with its location, unless the request does not require enforcement", async () => {
  const odd = { type: "object", properties: { a: { $ref: "#/nowhere" } } };
  for (const body of [
    { tools: [...tools, tool("odd", odd)], tool_choice: "required" },
    { tools: [...tools, tool("odd", odd, { strict: true })] },
  ]) {
    const { status, fault } = await ask(body);
    assert.equal(status, 400);
    assert.deepEqual(fault?.loc, ["body", "tools", "2", "function", "parameters"]);
    assert.match(fault?.msg ?? "", /^The reference at #\/properties\/a\/\$ref points to nothing/);
  }
  assert.equal((await ask({ tools: [tool("odd", odd)], max_tokens: 1 })).status, 200);
  const never = { type: "integer", minimum: 5, maximum: 3 };
  const empty = { type: "object", properties: { a: never }, required: ["a"] };
  const refused = await ask({ tools: [tool("never", empty)], tool_choice: "required" });
  assert.deepEqual(
    [refused.status, refused.fault?.loc],
    [400, ["body", "tools", "0", "function", "parameters"]],
  );
});

test("a schema that allows null besides an object is read as the object's schema", async () => {
  const nullable = { ...place, type: ["object", "null"] };
  const { message } = await ask({
    tools: [tool("weather", nullable)],
    tool_choice: "required",
    parallel_tool_calls: false,
  });
  placeSchema.strict().parse(JSON.parse(message.tool_calls[0].function.arguments));
});

test("a model without tool calls says so", async () => {
  const told = await ask({ tools, max_tokens: 1 }, "hone-tiny");
  assert.equal(told.status, 200);
  assert.match(told.notice ?? "", /chat\.toolCalls is off for hone-tiny/);
  assert.equal((await ask({ tools, max_tokens: 1 })).notice, null);
  for (const choice of ["auto", "required", named("weather")]) {
    const { status, fault } = await ask({ tools, tool_choice: choice }, "hone-tiny");
    assert.deepEqual([status, fault?.loc], [422, ["body", "tool_choice"]]);
    assert.match(fault?.msg ?? "", /chat\.toolCalls is off/);
  }
});

test("the SDK runs tools until the model calls none", async () => {
  const seen: unknown[] = [];
  const runner = openai.chat.completions.runTools({
    model: "tiny",
    messages: [{ role: "user", content: "Weather?" }],
    tool_choice: { type: "function", function: { name: "weather" } },
    tools: [
      zodFunction({
        name: "weather",
        parameters: placeSchema,
        function: (asked) => (seen.push(asked) > 0 ? "sunny" : ""),
      }),
    ],
    max_tokens: 200,
    seed: 3,
  });
  await runner.done();
  assert.equal(seen.length, 1);
  placeSchema.parse(seen[0]);
});

test("the SDK's stream helper accumulates a call, and parse reads its arguments", async () => {
  const body = {
    model: "tiny",
    messages: [{ role: "user" as const, content: "Weather?" }],
    tools: [zodFunction({ name: "weather", parameters: placeSchema })],
    tool_choice: "required" as const,
    parallel_tool_calls: false,
    max_tokens: 200,
    seed: 3,
  };
  const parsed = await openai.chat.completions.parse(body);
  placeSchema.parse(parsed.choices[0].message.tool_calls?.[0].function.parsed_arguments);
  const grown: string[] = [];
  const stream = openai.chat.completions.stream(body);
  stream.on("tool_calls.function.arguments.delta", ({ arguments: text }) => void grown.push(text));
  const { choices } = await stream.finalChatCompletion();
  assert.deepEqual(
    choices[0].message.tool_calls?.[0].function.arguments,
    parsed.choices[0].message.tool_calls?.[0].function.arguments,
  );
  // The number of events depends on how fast the client reads them.
  const whole = choices[0].message.tool_calls?.[0].function.arguments;
  assert.ok(grown.length > 0 && grown.at(-1) === whole && grown.every((text) => whole?.startsWith(text)));
  assert.equal(choices[0].finish_reason, "tool_calls");
});
