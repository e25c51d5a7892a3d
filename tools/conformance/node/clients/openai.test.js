// Tests helpers of the official OpenAI SDK: output parsing, the tool runner and the stream accumulator; and tests the
// Responses API.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { zodFunction, zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { maxTokens, order, place, setting, weatherIn } from "./setting.js";

const { baseURL, apiKey, model } = setting;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const messages = [{ role: "user", content: "What will the weather be?" }];
const tool = zodFunction({ name: "weather", parameters: place, description: "The weather of a city." });

test("parse returns an object that conforms to the schema", async () => {
  const answer = await client.chat.completions.parse({
    model,
    messages,
    response_format: zodResponseFormat(order, "order"),
  });
  assert.deepEqual(order.parse(answer.choices[0].message.parsed), answer.choices[0].message.parsed);
});

test("parse reads a tool's arguments", async () => {
  const answer = await client.chat.completions.parse({
    model,
    messages,
    tools: [tool],
    tool_choice: "required",
  });
  const [call] = answer.choices[0].message.tool_calls;
  assert.equal(answer.choices[0].finish_reason, "tool_calls");
  assert.deepEqual(place.parse(call.function.parsed_arguments), call.function.parsed_arguments);
});

test("runTools calls the tool and continues with its result", async () => {
  const seen = [];
  const runner = client.chat.completions.runTools(
    {
      model,
      messages,
      max_tokens: 200,
      tool_choice: { type: "function", function: { name: "weather" } },
      tools: [
        {
          type: "function",
          function: {
            name: "weather",
            parse: (text) => place.parse(JSON.parse(text)),
            parameters: tool.function.parameters,
            function: (call) => {
              seen.push(call);
              return weatherIn(call);
            },
          },
        },
      ],
    },
    { maxChatCompletions: 2 },
  );
  await runner.done().catch(() => undefined);
  assert.ok(seen.length > 0);
  assert.ok(runner.messages.some(({ role, content }) => role === "tool" && content === weatherIn(seen[0])));
});

test("the pieces of a stream accumulate to the same answer as without streaming", async () => {
  const stream = client.chat.completions.stream({ model, messages, max_tokens: maxTokens, seed: 1, n: 2 });
  let text = "";
  stream.on("content.delta", ({ delta }) => (text += delta));
  const gathered = await stream.finalChatCompletion();
  const whole = await client.chat.completions.create({
    model,
    messages,
    max_tokens: maxTokens,
    seed: 1,
    n: 2,
  });
  const texts = ({ choices }) => choices.map(({ message }) => message.content);
  assert.deepEqual(texts(gathered), texts(whole));
  assert.equal(text.length > 0, true);
});

test("the pieces of a streamed tool call accumulate to its arguments", async () => {
  const stream = client.chat.completions.stream({ model, messages, tools: [tool], tool_choice: "required" });
  const { choices } = await stream.finalChatCompletion();
  place.parse(choices[0].message.tool_calls[0].function.parsed_arguments);
});

test("the Responses API creates, streams and parses", async () => {
  const input = "What will the weather be?";
  const answer = await client.responses.create({ model, input, max_output_tokens: maxTokens });
  assert.equal(typeof answer.output_text, "string");
  const stream = client.responses.stream({ model, input, max_output_tokens: maxTokens });
  const types = new Set();
  for await (const event of stream) types.add(event.type);
  for (const type of ["response.created", "response.output_text.delta"]) assert.ok(types.has(type), type);
  const parsed = await client.responses.parse({
    model,
    input,
    text: { format: zodTextFormat(order, "order") },
  });
  order.parse(parsed.output_parsed);
});
