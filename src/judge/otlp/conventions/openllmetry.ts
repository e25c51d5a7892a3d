// Attributes `gen_ai.prompt.N.*` and `gen_ai.completion.N.*` of OpenLLMetry's earlier versions and of programs that
// copied them.
import {
  isExactList,
  isExactObject,
  type ExactJson,
  type ExactJsonObject,
} from "../../../base/domain/text/exact-json.ts";
import { choicesOf, finishReasonOf, toolsOf, type Chat } from "../chat.ts";
import { messagesOf, toolCall } from "../messages.ts";
import { parsedValue, type SpanAttributes } from "../span-attributes.ts";
import { genAiRequest } from "./gen-ai.ts";

export function openLlmetryChat(attributes: SpanAttributes): Chat | null {
  const prompt = attributes.list("gen_ai.prompt");
  const completion = attributes.list("gen_ai.completion");
  if (prompt.length === 0 && completion.length === 0) return null;
  const tools = attributes.list("llm.request.functions").map(({ parameters, ...tool }) => ({
    ...tool,
    parameters: parsedValue(parameters) ?? {},
  }));
  return {
    ...genAiRequest(attributes),
    messages: messagesOf(prompt.map(messageOf)),
    tools: toolsOf(tools),
    choices: choicesOf(
      completion.map((answer) => ({ role: "assistant", ...messageOf(answer) })),
      finishReasonOf(attributes.take("gen_ai.response.finish_reasons")),
    ),
  };
}

function messageOf({ content, tool_calls: calls, ...others }: ExactJsonObject): ExactJsonObject {
  const list = calls !== undefined && isExactList(calls) ? calls : [];
  return {
    ...others,
    content: content ?? null,
    ...(list.length === 0 ? {} : { tool_calls: list.map(callOf) }),
  };
}

function callOf(item: ExactJson): ExactJson {
  const call = isExactObject(item) ? item : {};
  return toolCall(call["id"], call["name"], call["arguments"]);
}
