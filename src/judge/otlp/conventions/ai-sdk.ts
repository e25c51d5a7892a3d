// Attributes `ai.*` of Vercel's AI SDK. Its spans around a whole generation have `ai.prompt`; only the spans of single
// requests to a model have `ai.prompt.messages`.
import { isExactList, type ExactJson } from "../../../base/domain/text/exact-json.ts";
import { choicesOf, finishReasonOf, parametersOf, toolsOf, type Chat } from "../chat.ts";
import { messagesOf, toolCall } from "../messages.ts";
import { parsedValue, type SpanAttributes } from "../span-attributes.ts";
import { genAiRequest } from "./gen-ai.ts";

const parameterNames = {
  temperature: "ai.settings.temperature",
  top_p: "ai.settings.topP",
  top_k: "ai.settings.topK",
  max_tokens: "ai.settings.maxOutputTokens",
  frequency_penalty: "ai.settings.frequencyPenalty",
  presence_penalty: "ai.settings.presencePenalty",
  seed: "ai.settings.seed",
  tool_choice: "ai.prompt.toolChoice",
};

export function aiSdkChat(attributes: SpanAttributes): Chat | null {
  if (!attributes.has("ai.prompt.messages")) return null;
  const { model, parameters, usage } = genAiRequest(attributes);
  const tools = attributes.take("ai.prompt.tools");
  const reason = finishReasonOf(
    attributes.take("ai.response.finishReason", "gen_ai.response.finish_reasons"),
  );
  return {
    model: attributes.text("ai.model.id") ?? model,
    messages: messagesOf(attributes.parsed("ai.prompt.messages")),
    // Each definition is a JSON text of its own.
    tools: toolsOf(
      tools !== undefined && isExactList(tools) ? tools.map((tool) => parsedValue(tool) ?? null) : [],
    ),
    parameters: { ...parameters, ...parametersOf(attributes, parameterNames) },
    choices: choicesOf(answerOf(attributes), reason),
    usage: {
      inputTokens: attributes.number("ai.usage.inputTokens", "ai.usage.promptTokens") ?? usage.inputTokens,
      outputTokens:
        attributes.number("ai.usage.outputTokens", "ai.usage.completionTokens") ?? usage.outputTokens,
    },
  };
}

function answerOf(attributes: SpanAttributes): ExactJson | undefined {
  const text = attributes.text("ai.response.text", "ai.response.object");
  const thoughts = attributes.text("ai.response.reasoning");
  const called = attributes.parsed("ai.response.toolCalls");
  const calls = called !== undefined && isExactList(called) ? called : [];
  if (text === null && calls.length === 0) return undefined;
  return {
    role: "assistant",
    content: text,
    ...(thoughts === null ? {} : { reasoning_content: thoughts }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(callOf) }),
  };
}

function callOf(call: ExactJson): ExactJson {
  const [{ tool_calls: calls = null }] = messagesOf({ parts: [{ ...Object(call), type: "tool-call" }] });
  return calls !== null && isExactList(calls) ? calls[0] : toolCall(null, null, null);
}
