// GenAI semantic conventions of OpenTelemetry: messages as JSON in attributes, or as one event per message.
import {
  isExactList,
  isExactObject,
  type ExactJson,
  type ExactJsonObject,
} from "../../../base/domain/text/exact-json.ts";
import { choicesOf, finishReasonOf, parametersOf, toolsOf, type Chat, type Usage } from "../chat.ts";
import { messagesOf } from "../messages.ts";
import type { Span, SpanEvent } from "../span.ts";
import { parsedValue, type SpanAttributes } from "../span-attributes.ts";

/**
 * Operations that send a request to a model. A span of another operation, such as `invoke_agent`, contains spans of
 * such requests.
 */
const operations = ["chat", "generate_content", "text_completion"];

/** True if the span's operation sends a request to a model, or the span names no operation. */
export function asksModel(attributes: SpanAttributes): boolean {
  const operation = attributes.see("gen_ai.operation.name");
  return operation === undefined || (typeof operation === "string" && operations.includes(operation));
}

export function genAiChat(attributes: SpanAttributes, { events }: Span): Chat | null {
  const hasAttributes = attributes.has("gen_ai.input.messages") || attributes.has("gen_ai.output.messages");
  const told = events.flatMap(messageOfEvent);
  if (!hasAttributes && told.length === 0) return null;
  const system = attributes.parsed("gen_ai.system_instructions");
  const input = attributes.parsed("gen_ai.input.messages");
  const output = attributes.parsed("gen_ai.output.messages");
  const answers = told.filter(({ isAnswer }) => isAnswer).map(({ message }) => message);
  const asked = told.filter(({ isAnswer }) => !isAnswer).map(({ message }) => message);
  const reason = finishReasonOf(attributes.take("gen_ai.response.finish_reasons"));
  return {
    ...genAiRequest(attributes),
    messages: [...systemMessages(system), ...messagesOf(input ?? asked)],
    tools: toolsOf(attributes.parsed("gen_ai.tool.definitions")),
    choices: choicesOf(output ?? answers, reason),
  };
}

const parameterNames = {
  temperature: "gen_ai.request.temperature",
  top_p: "gen_ai.request.top_p",
  top_k: "gen_ai.request.top_k",
  max_tokens: "gen_ai.request.max_tokens",
  frequency_penalty: "gen_ai.request.frequency_penalty",
  presence_penalty: "gen_ai.request.presence_penalty",
  seed: "gen_ai.request.seed",
  stop: "gen_ai.request.stop_sequences",
  n: "gen_ai.request.choice.count",
};

/** Takes the attributes that several conventions share: the model, the sampling options and the usage. */
export function genAiRequest(attributes: SpanAttributes): Pick<Chat, "model" | "parameters" | "usage"> {
  const model = attributes.text("gen_ai.request.model");
  return {
    model: model ?? attributes.text("gen_ai.response.model"),
    parameters: parametersOf(attributes, parameterNames),
    usage: genAiUsage(attributes),
  };
}

function genAiUsage(attributes: SpanAttributes): Usage {
  return {
    inputTokens: attributes.number("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    outputTokens: attributes.number("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
  };
}

/** Converts system instructions to messages. The instructions are a list of message parts, or a text. */
function systemMessages(instructions: ExactJson | undefined): readonly ExactJsonObject[] {
  if (instructions === undefined) return [];
  const isParts =
    isExactList(instructions) && instructions.every((part) => isExactObject(part) && !("role" in part));
  return messagesOf(isParts ? { role: "system", parts: instructions } : instructions, "system");
}

interface ToldMessage {
  readonly message: ExactJsonObject;
  readonly isAnswer: boolean;
}

/** Reads an event of the earlier form of the conventions, such as `gen_ai.user.message` or `gen_ai.choice`. */
function messageOfEvent({ name, attributes }: SpanEvent): readonly ToldMessage[] {
  const role = /^gen_ai\.(system|user|assistant|tool)\.message$/.exec(name)?.[1];
  if (role === undefined && name !== "gen_ai.choice") return [];
  const content = parsedValue(attributes["gen_ai.event.content"]);
  const body = content !== undefined && isExactObject(content) ? content : parsedMembers(attributes);
  if (role !== undefined) {
    const { id = null, ...message } = body;
    const said = { role, ...message };
    return [{ message: role === "tool" ? { ...said, tool_call_id: id } : said, isAnswer: false }];
  }
  const { message, finish_reason: reason } = body;
  const said =
    message !== undefined && isExactObject(message)
      ? message
      : { content: message ?? body["content"] ?? null };
  return [
    {
      message: { role: "assistant", ...said, ...(reason === undefined ? {} : { finish_reason: reason }) },
      isAnswer: true,
    },
  ];
}

function parsedMembers(attributes: ExactJsonObject): ExactJsonObject {
  const members = Object.entries(attributes).filter(([key]) => !key.startsWith("gen_ai."));
  return Object.fromEntries(members.map(([key, value]) => [key, parsedValue(value) ?? null]));
}
