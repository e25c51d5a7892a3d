// Tests LangChain's OpenAI model: plain calls, streams, tools, and each method for structured output.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { maxTokens, order, place, setting, weatherIn } from "./setting.js";

const { baseURL, apiKey, model } = setting;
const newModel = (options = {}) =>
  new ChatOpenAI({ model, apiKey, maxRetries: 0, ...options, configuration: { baseURL } });
const question = "What will the weather be?";
const weather = tool(weatherIn, { name: "weather", description: "The weather of a city.", schema: place });

for (const useResponsesApi of [false, true]) {
  const api = useResponsesApi ? "responses" : "chat";

  test(`${api}: invoke`, async () => {
    const answer = await newModel({ useResponsesApi, maxTokens }).invoke(question);
    assert.ok(answer.usage_metadata.output_tokens > 0);
  });

  test(`${api}: stream`, async () => {
    let gathered;
    for await (const chunk of await newModel({ useResponsesApi, maxTokens }).stream(question)) {
      gathered = gathered === undefined ? chunk : gathered.concat(chunk);
    }
    assert.ok(gathered.usage_metadata.output_tokens > 0);
  });

  test(`${api}: bindTools, and the tool's result sent back`, async () => {
    // Over the Responses API, this client drops a tool choice that is not the name of a tool.
    const choice = useResponsesApi ? "weather" : "required";
    const bound = newModel({ useResponsesApi }).bindTools([weather], { tool_choice: choice });
    const asked = [new HumanMessage(question)];
    const answer = await bound.invoke(asked);
    assert.ok(answer.tool_calls.length > 0);
    const [call] = answer.tool_calls;
    place.parse(call.args);
    const result = await weather.invoke(call);
    assert.ok(result instanceof ToolMessage);
    // Returns a result for every call.
    const results = await Promise.all(answer.tool_calls.map((one) => weather.invoke(one)));
    const next = await newModel({ useResponsesApi, maxTokens }).invoke([...asked, answer, ...results]);
    assert.ok(next.usage_metadata.output_tokens > 0);
  });

  test(`${api}: bindTools with a tool by name, streamed`, async () => {
    const bound = newModel({ useResponsesApi }).bindTools([weather], { tool_choice: "weather" });
    let gathered;
    for await (const chunk of await bound.stream(question)) {
      gathered = gathered === undefined ? chunk : gathered.concat(chunk);
    }
    place.parse(gathered.tool_calls[0].args);
  });
}

for (const method of ["jsonSchema", "functionCalling", "jsonMode"]) {
  test(`withStructuredOutput by ${method}`, async () => {
    // In JSON mode nothing enforces the schema, so this one makes all members optional and allows others.
    const schema = method === "jsonMode" ? order.partial().loose() : order;
    const structured = newModel().withStructuredOutput(schema, { name: "order", method });
    const answer = structured.invoke(question);
    if (method === "jsonMode") await answer.catch((error) => assert.match(error.message, /parse/i));
    else order.parse(await answer);
  });
}
