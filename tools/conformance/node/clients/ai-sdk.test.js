// Tests the AI SDK with each of its providers that can connect to another vendor's server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, Output, stepCountIs, streamObject, streamText, tool } from "ai";
import { maxTokens, order, place, setting, weatherIn } from "./setting.js";

const { baseURL, apiKey, model } = setting;
const openai = createOpenAI({ baseURL, apiKey });
const compatible = createOpenAICompatible({
  name: "hone",
  baseURL,
  apiKey,
  supportsStructuredOutputs: true,
  includeUsage: true,
});
const prompt = "What will the weather be?";
const weather = tool({ description: "The weather of a city.", inputSchema: place, execute: weatherIn });

const providers = {
  "@ai-sdk/openai-compatible": compatible(model),
  "@ai-sdk/openai chat": openai.chat(model),
  "@ai-sdk/openai responses": openai.responses(model),
};

for (const [name, languageModel] of Object.entries(providers)) {
  const asked = { model: languageModel, prompt, maxRetries: 0 };
  const onError = ({ error }) => {
    throw error;
  };

  test(`${name}: generateText`, async () => {
    const { text, usage, finishReason } = await generateText({ ...asked, maxOutputTokens: maxTokens });
    assert.equal(typeof text, "string");
    assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0);
    assert.ok(["stop", "length"].includes(finishReason), finishReason);
  });

  test(`${name}: streamText`, async () => {
    const result = streamText({ ...asked, maxOutputTokens: maxTokens, onError });
    let text = "";
    for await (const delta of result.textStream) text += delta;
    assert.equal(text, await result.text);
    assert.ok((await result.usage).outputTokens > 0);
  });

  test(`${name}: generateObject`, async () => {
    const { object } = await generateObject({ ...asked, schema: order });
    assert.deepEqual(order.parse(object), object);
  });

  test(`${name}: streamObject`, async () => {
    const result = streamObject({ ...asked, schema: order, onError });
    for await (const part of result.partialObjectStream) assert.equal(typeof part, "object");
    order.parse(await result.object);
  });

  const steps = {
    ...asked,
    tools: { weather },
    toolChoice: "required",
    maxOutputTokens: 1000,
    stopWhen: stepCountIs(2),
    prepareStep: ({ stepNumber }) => (stepNumber === 0 ? {} : { toolChoice: "none" }),
  };
  const checkSteps = (done) => {
    assert.equal(done.length, 2);
    const [{ toolCalls, toolResults }] = done;
    assert.ok(toolCalls.length > 0);
    place.parse(toolCalls[0].input);
    assert.equal(toolResults[0].output, weatherIn(toolCalls[0].input));
    assert.equal(done[0].finishReason, "tool-calls");
  };

  test(`${name}: tools in several steps`, async () => checkSteps((await generateText(steps)).steps));

  test(`${name}: tools in several steps, streamed`, async () => {
    const result = streamText({ ...steps, onError });
    await result.consumeStream({ onError: (error) => onError({ error }) });
    checkSteps(await result.steps);
  });

  test(`${name}: an object next to tools`, async () => {
    const { output } = await generateText({
      ...asked,
      tools: { weather },
      toolChoice: "none",
      output: Output.object({ schema: order }),
    });
    order.parse(output);
  });
}
