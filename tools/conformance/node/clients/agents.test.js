// Tests OpenAI's Agents SDK with both of its APIs: a loop with tools, a handoff, and a typed result.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { order, place, setting, weatherIn } from "./setting.js";

setTracingDisabled(true);
const { baseURL, apiKey, model } = setting;
const openAIClient = new OpenAI({ baseURL, apiKey, maxRetries: 0 });

for (const useResponses of [false, true]) {
  const api = useResponses ? "responses" : "chat";
  const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient, useResponses }), model });

  test(`${api}: a tool, then a typed result`, async () => {
    const calls = [];
    const weather = tool({
      name: "weather",
      description: "The weather of a city.",
      parameters: place,
      execute: (call) => {
        calls.push(call);
        return weatherIn(call);
      },
    });
    const agent = new Agent({
      name: "Forecaster",
      instructions: "Answer with an order.",
      tools: [weather],
      outputType: order,
      modelSettings: { toolChoice: "required", parallelToolCalls: false },
    });
    const { finalOutput } = await runner.run(agent, "What will the weather be?", { maxTurns: 8 });
    order.parse(finalOutput);
    assert.ok(calls.length > 0);
  });

  test(`${api}: a handoff, streamed`, async () => {
    const second = new Agent({ name: "Second", instructions: "Order something.", outputType: order });
    const first = new Agent({
      name: "First",
      instructions: "Hand over.",
      handoffs: [second],
      modelSettings: { toolChoice: "transfer_to_Second" },
    });
    const result = await runner.run(first, "I want something.", { stream: true, maxTurns: 4 });
    let eventCount = 0;
    for await (const { type } of result) eventCount += type === "raw_model_stream_event" ? 1 : 0;
    await result.completed;
    assert.ok(eventCount > 0);
    assert.equal(result.lastAgent.name, "Second");
    order.parse(result.finalOutput);
  });

  test(`${api}: plain text`, async () => {
    // Sets no length limit, because this client treats a truncated answer as an error. The built-in model ends its
    // answers itself.
    const agent = new Agent({ name: "Talker", instructions: "Talk.", model: "hone-tiny" });
    const { finalOutput } = await runner.run(agent, "Hello");
    assert.equal(typeof finalOutput, "string");
  });
}
