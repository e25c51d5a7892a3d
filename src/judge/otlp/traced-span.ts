// Converts a span to the content of a traced call: inputs, output, usage and the attributes that are left.
import { isExactObject, type ExactJson, type ExactJsonObject } from "../../base/domain/text/exact-json.ts";
import type { Chat, Usage } from "./chat.ts";
import { aiSdkChat } from "./conventions/ai-sdk.ts";
import { asksModel, genAiChat } from "./conventions/gen-ai.ts";
import { langfuseChat } from "./conventions/langfuse.ts";
import { openInferenceChat } from "./conventions/openinference.ts";
import { openLlmetryChat } from "./conventions/openllmetry.ts";
import type { Span } from "./span.ts";
import { SpanAttributes } from "./span-attributes.ts";

export interface TracedSpan {
  readonly inputs: ExactJsonObject;
  readonly output: ExactJson;
  readonly summary: ExactJsonObject;
  readonly attributes: ExactJsonObject;
  /** Id of the conversation that the span belongs to; null if it names none. */
  readonly threadId: string | null;
}

/** Conventions in the order of preference. The first convention that finds messages in a span converts the span. */
const conventions = [aiSdkChat, genAiChat, openLlmetryChat, openInferenceChat, langfuseChat];

/** Attributes with the input and the output of spans that are not requests to a model. */
const inputKeys = [
  "langfuse.observation.input",
  "input.value",
  "gen_ai.tool.call.arguments",
  "ai.toolCall.args",
  "ai.prompt",
  "traceloop.entity.input",
  "gen_ai.input.messages",
];
const outputKeys = [
  "langfuse.observation.output",
  "output.value",
  "gen_ai.tool.call.result",
  "ai.toolCall.result",
  "ai.response.text",
  "traceloop.entity.output",
  "gen_ai.output.messages",
];
const threadKeys = ["gen_ai.conversation.id", "session.id", "langfuse.session.id"];

export function tracedSpan(span: Span): TracedSpan {
  const attributes = new SpanAttributes({ ...span.attributes, ...detailsOf(span) });
  const thread = threadKeys.map((key) => attributes.see(key)).find((value) => typeof value === "string");
  const threadId = typeof thread === "string" ? thread.slice(0, 1024) : null;
  if (asksModel(attributes)) {
    for (const read of conventions) {
      const chat = read(attributes, span);
      if (chat !== null) return { ...contentOf(chat), attributes: attributes.rest, threadId };
    }
  }
  const input = firstOf(attributes, inputKeys);
  const output = firstOf(attributes, outputKeys) ?? null;
  const inputs = input === undefined ? {} : isExactObject(input) ? input : { input };
  return { inputs, output, summary: {}, attributes: attributes.rest, threadId };
}

/** Programs may write the messages of a request into an event, rather than into attributes. */
function detailsOf({ events }: Span): Span["attributes"] {
  return events.find(({ name }) => name === "gen_ai.client.inference.operation.details")?.attributes ?? {};
}

function firstOf(attributes: SpanAttributes, keys: readonly string[]): ExactJson | undefined {
  const key = keys.find((name) => attributes.has(name));
  return key === undefined ? undefined : attributes.parsed(key);
}

function contentOf({
  model,
  messages,
  tools,
  parameters,
  choices,
  usage,
}: Chat): Omit<TracedSpan, "attributes" | "threadId"> {
  return {
    inputs: {
      ...parameters,
      ...(model === null ? {} : { model }),
      messages,
      ...(tools.length === 0 ? {} : { tools }),
    },
    output: {
      choices: choices.map(({ message, finishReason }, index) => ({
        index,
        message,
        finish_reason: finishReason,
      })),
    },
    summary: usageOf(model, usage),
  };
}

/** Returns the usage by model, in the same form as Weave's clients send it. */
function usageOf(model: string | null, { inputTokens, outputTokens }: Usage): ExactJsonObject {
  if (inputTokens === null && outputTokens === null) return {};
  const [input, output] = [inputTokens ?? 0, outputTokens ?? 0];
  const counts = {
    requests: 1,
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
  };
  return { usage: { [model ?? "unknown"]: counts } };
}
