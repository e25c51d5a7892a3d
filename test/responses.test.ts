// Tests the Responses API with the official OpenAI SDK on a running server. Uses the built-in model, and a model whose
// template supports tools.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI, { BadRequestError, UnprocessableEntityError } from "openai";
import { zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import type { ResponseInput, ResponseStreamEvent } from "openai/resources/responses/responses";
import { z } from "zod";
import { serverOfFile } from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

let openai: OpenAI;
serverOfFile({
  flags: toolModel,
  onStart: ({ url, apiKey }) => {
    openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  },
});
const model = "hone-tiny";
/** A model with random weights: its text is meaningless, but constraints on it can be checked. */
const agent = "tiny";

test("a response has the same content as a chat completion of the same conversation", async () => {
  const chat = await openai.chat.completions.create({
    model,
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "spell cat" },
    ],
    temperature: 0,
    max_tokens: 16,
  });
  const settings = { model, temperature: 0, max_output_tokens: 16, instructions: "Be brief." };
  const response = await openai.responses.create({ ...settings, input: "spell cat" });
  const [choice] = chat.choices;
  assert.equal(response.output_text, choice.message.content);
  assert.equal(response.status, choice.finish_reason === "stop" ? "completed" : "incomplete");
  assert.equal(response.usage?.total_tokens, chat.usage?.total_tokens);
  const asItems = await openai.responses.create({
    ...settings,
    input: [{ role: "user", content: [{ type: "input_text", text: "spell cat" }] }],
  });
  assert.equal(asItems.output_text, response.output_text);
});

test("the SDK accumulates a stream to the same response as without streaming", async () => {
  const asked = { model, input: "tell me a story", temperature: 0, max_output_tokens: 24 };
  const whole = await openai.responses.create(asked);
  const stream = openai.responses.stream(asked);
  const types: ResponseStreamEvent["type"][] = [];
  let text = "";
  for await (const event of stream) {
    types.push(event.type);
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  const final = await stream.finalResponse();
  assert.equal(text, whole.output_text);
  assert.equal(final.output_text, whole.output_text);
  assert.deepEqual(final.usage?.output_tokens, whole.usage?.output_tokens);
  assert.deepEqual(types.slice(0, 4), [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
  ]);
  assert.equal(types.at(-1), `response.${whole.status}`);
});

const animal = z.object({
  name: z.string().min(1).max(12),
  kind: z.enum(["cat", "dog", "owl"]),
  legs: z.number().int().min(0).max(8),
});
/** Forbids whitespace, because a small model that begins to write spaces rarely stops. */
const compact = { structured_outputs: { disable_any_whitespace: true } };

test("the SDK parses an answer that conforms to a zod schema, with and without streaming", async () => {
  const asked = {
    ...compact,
    model,
    input: "tell me of an animal",
    text: { format: zodTextFormat(animal, "animal") },
    temperature: 1,
    seed: 3,
    max_output_tokens: 400,
  };
  const { output_parsed: parsed, status } = await openai.responses.parse(asked);
  assert.equal(status, "completed");
  assert.deepEqual(animal.parse(parsed), parsed);
  const streamed = await openai.responses.stream(asked).finalResponse();
  assert.deepEqual(streamed.output_parsed, parsed);
});

const place = z.object({ city: z.enum(["Paris", "Rome"]) });
const weather = zodResponsesFunction({ name: "weather", parameters: place });

test("the next request can contain a tool call and its result", async () => {
  const asked = {
    model: agent,
    tools: [weather],
    tool_choice: "required" as const,
    parallel_tool_calls: false,
    max_output_tokens: 100,
    seed: 1,
  };
  const question: ResponseInput = [{ role: "user", content: "What is the weather?" }];
  const first = await openai.responses.parse({ ...asked, input: question });
  const [call] = first.output.filter((item) => item.type === "function_call");
  assert.ok(call !== undefined, JSON.stringify(first.output));
  assert.equal(first.status, "completed");
  assert.deepEqual(place.parse(call.parsed_arguments), JSON.parse(call.arguments));
  const streamed = await openai.responses.stream({ ...asked, input: question }).finalResponse();
  const [again] = streamed.output.filter((item) => item.type === "function_call");
  assert.equal(again?.arguments, call.arguments);
  const { name, call_id: id, arguments: text } = call;
  const second = await openai.responses.create({
    ...asked,
    tool_choice: "none",
    max_output_tokens: 8,
    input: [
      ...question,
      { type: "function_call", call_id: id, name, arguments: text },
      { type: "function_call_output", call_id: id, output: "sunny" },
    ],
  });
  assert.ok((second.usage?.input_tokens ?? 0) > (first.usage?.input_tokens ?? 0));
  assert.ok(second.output.every(({ type }) => type !== "function_call"));
});

test("calls a custom tool with a text that its grammar allows, and ignores other tools", async () => {
  const definition = 'start: "*** Begin\\n" line+ "*** End"\nline: ("+" | "-") /[a-z"]{1,4}/ "\\n"';
  const asked = {
    model: agent,
    tools: [
      { type: "web_search" as const },
      {
        type: "custom" as const,
        name: "apply_patch",
        format: { type: "grammar" as const, syntax: "lark" as const, definition },
      },
      weather,
    ],
    tool_choice: { type: "custom" as const, name: "apply_patch" },
    store: true,
    include: ["reasoning.encrypted_content" as const],
    max_output_tokens: 300,
    seed: 4,
  };
  const question: ResponseInput = [{ role: "user", content: "Change the file." }];
  const { data, response } = await openai.responses.create({ ...asked, input: question }).withResponse();
  assert.match(
    String(response.headers.get("x-hone-notice")),
    /left out: web_search; a response cannot be retrieved/,
  );
  const [call] = data.output.filter((item) => item.type === "custom_tool_call");
  assert.ok(call !== undefined, JSON.stringify(data.output));
  assert.equal(call.name, "apply_patch");
  assert.match(call.input, /^\*\*\* Begin\n(?:[+-][a-z"]{1,4}\n)+\*\*\* End$/);
  let streamed = "";
  for await (const event of await openai.responses.create({ ...asked, input: question, stream: true })) {
    if (event.type === "response.custom_tool_call_input.delta") streamed += event.delta;
    if (event.type === "response.custom_tool_call_input.done") assert.equal(event.input, streamed);
  }
  assert.equal(streamed, call.input);
  const { call_id: id, name, input } = call;
  const second = await openai.responses.create({
    ...asked,
    tool_choice: "none",
    max_output_tokens: 8,
    input: [
      ...question,
      { type: "custom_tool_call", call_id: id, name, input },
      { type: "custom_tool_call_output", call_id: id, output: "done" },
    ],
  });
  assert.ok((second.usage?.input_tokens ?? 0) > (data.usage?.input_tokens ?? 0));
});

test("a custom tool works the same in chats, and with several tools only an allowed one is called", async () => {
  const custom = {
    type: "custom" as const,
    custom: {
      name: "say",
      format: { type: "grammar" as const, grammar: { syntax: "regex" as const, definition: "(yes|no)!" } },
    },
  };
  const other = { type: "function" as const, function: { name: "other" } };
  const asked = {
    model: agent,
    messages: [{ role: "user" as const, content: "Is it?" }],
    tools: [other, custom],
    tool_choice: {
      type: "allowed_tools" as const,
      allowed_tools: { mode: "required" as const, tools: [{ type: "custom", custom: { name: "say" } }] },
    },
    parallel_tool_calls: false,
    max_tokens: 200,
    seed: 2,
  };
  const { choices } = await openai.chat.completions.create(asked);
  const [call] = choices[0].message.tool_calls ?? [];
  assert.ok(call.type === "custom");
  assert.match(call.custom.input, /^(?:yes|no)!$/);
  let input = "";
  for await (const chunk of await openai.chat.completions.create({ ...asked, stream: true }))
    for (const delta of chunk.choices[0]?.delta.tool_calls ?? [])
      // The SDK's type of a delta does not declare custom tools yet.
      input += (delta as unknown as { readonly custom: { readonly input: string } }).custom.input;
  assert.equal(input, call.custom.input);
});

test("errors become the SDK's own error classes and name the field", async () => {
  await assert.rejects(
    openai.responses.create({ model, input: "x", previous_response_id: "resp_1" }),
    (error) => error instanceof BadRequestError && error.param === "previous_response_id",
  );
  await assert.rejects(
    openai.responses.create({ model, input: "x", max_output_tokens: 0 }),
    (error) => error instanceof UnprocessableEntityError && error.param === "max_output_tokens",
  );
  await assert.rejects(
    openai.responses.create({ model, input: "far too long ".repeat(20_000) }),
    (error) => error instanceof BadRequestError && /context length/.test(error.message),
  );
});
