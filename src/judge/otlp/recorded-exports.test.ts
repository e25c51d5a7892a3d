// Tests that spans become the expected chats. The named libraries exported the spans; they were recorded from the
// unmodified packages.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Json } from "../../base/domain/text/json.ts";
import { readProtobuf } from "./read-protobuf.ts";
import { readSpans } from "./read-spans.ts";
import type { Span } from "./span.ts";
import { tracedSpan } from "./traced-span.ts";

const limits = { depthMax: 64, valuesMax: 100_000 };

function spansOf(file: string): readonly Span[] {
  const bytes = readFileSync(`test/fixtures/otlp/${file}`);
  // Safe cast: parsed from JSON.
  const request = file.endsWith(".pb") ? readProtobuf(bytes, limits) : (JSON.parse(bytes.toString()) as Json);
  const { spans, rejected } = readSpans(request);
  assert.deepEqual(rejected, []);
  return spans;
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const system = { role: "system", content: "You are brief." };
const question = { role: "user", content: "What is the weather in Paris?" };
const call = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } };
const called = { role: "assistant", content: null, tool_calls: [call] };
const answer = { role: "assistant", content: "It is sunny in Paris." };
const usage = {
  usage: { "gpt-test": { requests: 1, prompt_tokens: 20, completion_tokens: 6, total_tokens: 26 } },
};

/**
 * Checks the two chats of an agent that calls the tool `weather`.
 *
 * @param result content of the tool's message
 */
function checkAgent(file: string, result: string): void {
  const chats = spansOf(file)
    .map((span) => tracedSpan(span))
    .filter(({ summary }) => "usage" in summary);
  assert.equal(chats.length, 2, file);
  const [first, second] = chats;
  assert.deepEqual(plain(first.inputs["messages"]), [system, question]);
  assert.deepEqual(plain(first.output), {
    choices: [{ index: 0, message: called, finish_reason: "tool_calls" }],
  });
  assert.deepEqual([first.inputs["model"], first.inputs["temperature"]], ["gpt-test", 0.5]);
  assert.deepEqual(first.summary, usage);
  const [tool] = plain(first.inputs["tools"]) as readonly {
    readonly function: Readonly<Record<string, unknown>>;
  }[];
  assert.deepEqual([tool.function["name"], tool.function["description"]], ["weather", "Weather of a city"]);
  const told = { role: "tool", tool_call_id: "call_1", content: result };
  assert.deepEqual(plain(second.inputs["messages"]), [system, question, called, told]);
  assert.deepEqual(plain(second.output), { choices: [{ index: 0, message: answer, finish_reason: "stop" }] });
}

test("reads the chats of the AI SDK's telemetry, in GenAI's attributes and in its own", () => {
  checkAgent("ai-sdk-7.json", '{"city":"Paris","sky":"sunny"}');
  checkAgent("ai-sdk-7-legacy.pb", '{"city":"Paris","sky":"sunny"}');
});

test("reads the chats of OpenInference and of OpenLLMetry, in Node and in Python", () => {
  checkAgent("openinference-openai-4.pb", '{"sky":"sunny"}');
  checkAgent("traceloop-openai-0.27.json", '{"sky":"sunny"}');
  checkAgent("opentelemetry-openai-0.62.pb", '{"sky":"sunny"}');
});

test("reads Langfuse's generations as chats, and its other observations as calls with input and output", () => {
  for (const file of ["langfuse-otel-5.json", "langfuse-python-5.pb"]) {
    const calls = new Map(spansOf(file).map((span) => [span.name, tracedSpan(span)]));
    const chat = calls.get("answer");
    assert.deepEqual(plain(chat?.output), { choices: [{ index: 0, message: answer, finish_reason: null }] });
    assert.deepEqual(chat?.summary, usage);
    assert.equal(chat?.inputs["temperature"], 0.5);
    assert.deepEqual((plain(chat?.inputs["messages"]) as readonly unknown[]).at(-1), question);
    assert.deepEqual(calls.get("wrapped")?.summary, usage);
    assert.equal(calls.get("ask")?.output, "It is sunny in Paris.");
  }
  const tool = spansOf("langfuse-otel-5.json").find(({ name }) => name === "lookup");
  assert.deepEqual(tool && tracedSpan(tool).inputs, { city: "Paris" });
});

test("stores only the requests to a model as chats, not the agent's spans around them", () => {
  for (const [file, name] of [
    ["ai-sdk-7.json", "invoke_agent gpt-test"],
    ["ai-sdk-7-legacy.pb", "ai.generateText"],
  ]) {
    const span = spansOf(file).find((one) => one.name === name);
    assert.ok(span, name);
    assert.equal(span.parentId, null);
    assert.equal(JSON.stringify(tracedSpan(span).output).includes("choices"), false);
  }
});
