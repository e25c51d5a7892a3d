// A chat with a language model, as a span describes it, in the form of OpenAI's chat API.
import {
  isExactList,
  isExactObject,
  type ExactJson,
  type ExactJsonObject,
} from "../../base/domain/text/exact-json.ts";
import { messagesOf, toolOf } from "./messages.ts";
import type { SpanAttributes } from "./span-attributes.ts";

export interface Usage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

export interface ChatChoice {
  readonly message: ExactJsonObject;
  readonly finishReason: string | null;
}

export interface Chat {
  readonly model: string | null;
  readonly messages: readonly ExactJsonObject[];
  readonly tools: readonly ExactJsonObject[];
  /** Sampling options, by OpenAI's names. */
  readonly parameters: ExactJsonObject;
  readonly choices: readonly ChatChoice[];
  readonly usage: Usage;
}

/** OpenAI's finish reasons, by the names that other libraries and model providers use. */
const finishReasons: Readonly<Record<string, string>> = {
  tool_call: "tool_calls",
  "tool-calls": "tool_calls",
  tool_use: "tool_calls",
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  "content-filter": "content_filter",
};

/** Returns OpenAI's name for a finish reason; null for a value that is not a text. */
export function finishReasonOf(value: ExactJson | undefined): string | null {
  const reason = value !== undefined && isExactList(value) ? value[0] : value;
  if (typeof reason !== "string" || reason === "") return null;
  return Object.hasOwn(finishReasons, reason) ? finishReasons[reason] : reason;
}

/**
 * Converts a model's answers, or a single answer, to choices of OpenAI's chat API.
 *
 * @param answers messages, each of which may have a `finish_reason`
 * @param otherwise finish reason of an answer that has none
 */
export function choicesOf(answers: ExactJson | undefined, otherwise: string | null): readonly ChatChoice[] {
  const list =
    answers !== undefined && isExactList(answers) ? answers : answers === undefined ? [] : [answers];
  return list.flatMap((answer) => {
    const reason = isExactObject(answer) ? finishReasonOf(answer["finish_reason"]) : null;
    return messagesOf(answer, "assistant")
      .slice(0, 1)
      .map((message) => ({ message, finishReason: reason ?? otherwise }));
  });
}

export function toolsOf(definitions: ExactJson | undefined): readonly ExactJsonObject[] {
  if (definitions === undefined || !isExactList(definitions)) return [];
  return definitions.map(toolOf).filter((tool) => tool !== null);
}

/**
 * Takes the sampling options from a span's attributes.
 *
 * @param names for each of OpenAI's option names, the attribute key that the convention uses
 */
export function parametersOf(
  attributes: SpanAttributes,
  names: Readonly<Record<string, string>>,
): ExactJsonObject {
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, key]) => {
      const value = attributes.parsed(key);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
