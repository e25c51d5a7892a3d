// Tests spans that the documents of each convention show but the recorded exports do not contain.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../base/domain/text/json.ts";
import { evaluationsOf } from "./evaluations.ts";
import type { Span, SpanEvent } from "./span.ts";
import { tracedSpan } from "./traced-span.ts";

function spanOf(attributes: JsonObject, events: readonly SpanEvent[] = []): Span {
  return {
    traceId: "1".repeat(32),
    id: "2".repeat(16),
    parentId: null,
    name: "chat",
    startNanos: 0n,
    endNanos: 0n,
    attributes,
    events,
    error: null,
    resource: {},
    scope: "",
  };
}

/** Checks the messages and answers of a chat. */
function check(span: Span, messages: readonly object[], answers: readonly object[]): void {
  const { inputs, output } = tracedSpan(span);
  const { choices } = output as unknown as { readonly choices: readonly { readonly message: object }[] };
  assert.deepEqual(inputs["messages"], messages);
  assert.deepEqual(
    choices.map(({ message }) => message),
    answers,
  );
}

test("reads one event per message, as earlier GenAI conventions have it", () => {
  const event = (name: string, attributes: JsonObject): SpanEvent => ({ name, attributes });
  const calls = '[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]';
  check(
    spanOf({ "gen_ai.operation.name": "chat" }, [
      event("gen_ai.system.message", { content: "Be brief." }),
      event("gen_ai.user.message", { "gen_ai.event.content": '{"content":"Hi"}' }),
      event("gen_ai.assistant.message", { tool_calls: calls }),
      event("gen_ai.tool.message", { id: "c", content: "4" }),
      event("gen_ai.choice", { index: 0, finish_reason: "stop", message: '{"content":"Hello"}' }),
    ]),
    [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi" },
      { role: "assistant", content: null, tool_calls: JSON.parse(calls) as object },
      { role: "tool", content: "4", tool_call_id: "c" },
    ],
    [{ role: "assistant", content: "Hello" }],
  );
});

test("reads numbered attributes of OpenLLMetry, with calls and tools", () => {
  const span = spanOf({
    "gen_ai.prompt.0.role": "user",
    "gen_ai.prompt.0.content": "Hi",
    "gen_ai.prompt.10.role": "user",
    "gen_ai.prompt.10.content": "Third",
    "gen_ai.prompt.2.role": "user",
    "gen_ai.prompt.2.content": "Second",
    "gen_ai.completion.0.finish_reason": "tool_calls",
    "gen_ai.completion.0.tool_calls.0.id": "c",
    "gen_ai.completion.0.tool_calls.0.name": "f",
    "gen_ai.completion.0.tool_calls.0.arguments": '{"x":1.0}',
    "llm.request.functions.0.name": "f",
    "llm.request.functions.0.parameters": '{"type":"object"}',
  });
  const call = { id: "c", type: "function", function: { name: "f", arguments: '{"x":1.0}' } };
  check(
    span,
    ["Hi", "Second", "Third"].map((content) => ({ role: "user", content })),
    [{ role: "assistant", content: null, tool_calls: [call] }],
  );
  assert.deepEqual(tracedSpan(span).inputs["tools"], [
    { type: "function", function: { name: "f", parameters: { type: "object" } } },
  ]);
});

test("reads thoughts, results of tools, and parts that are not text, and keeps the digits of arguments", () => {
  const blob = { type: "blob", modality: "image", mime_type: "image/png", content: "aGk=" };
  check(
    spanOf({
      "gen_ai.input.messages": JSON.stringify([
        { role: "user", parts: [{ type: "text", content: "Look" }, blob] },
        { role: "tool", parts: [{ type: "tool_call_response", id: "c", response: "sunny" }] },
      ]),
      "gen_ai.output.messages":
        '[{"role":"assistant","parts":[{"type":"reasoning","content":"Hm"},{"type":"tool_call","id":"c","name":"f","arguments":{"n":12345678901234567890}}]}]',
    }),
    [
      { role: "user", content: [{ type: "text", text: "Look" }, blob] },
      { role: "tool", tool_call_id: "c", content: "sunny" },
    ],
    [
      {
        role: "assistant",
        content: null,
        reasoning_content: "Hm",
        tool_calls: [
          { id: "c", type: "function", function: { name: "f", arguments: '{"n":12345678901234567890}' } },
        ],
      },
    ],
  );
});

test("keeps attributes that no convention takes, and JSON that is nested too deeply as a text", () => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  const { attributes, inputs } = tracedSpan(spanOf({ "input.value": deep, mine: 1 }));
  assert.deepEqual(attributes, { mine: 1 });
  assert.deepEqual(inputs, { input: deep });
});

test("reads evaluations of an answer that have a name and a value", () => {
  const name = "gen_ai.evaluation.result";
  const spans = spanOf({}, [
    {
      name,
      attributes: {
        "gen_ai.evaluation.name": "relevance",
        "gen_ai.evaluation.score.value": 0.5,
        "gen_ai.evaluation.score.label": "fair",
        "gen_ai.evaluation.explanation": "Half of it.",
      },
    },
    { name, attributes: { "gen_ai.evaluation.name": "nothing" } },
  ]);
  const payload = { name: "relevance", value: 0.5, label: "fair", explanation: "Half of it." };
  assert.deepEqual(evaluationsOf(spans), [{ name: "relevance", payload }]);
});
