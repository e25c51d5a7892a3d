// From a parsed body to the domain's ChatRequest, with everything about how to answer that only the wire knows.
import type { ChatRequest } from "../../domain/chat.ts";
import { textMemberOf } from "../../domain/content-part.ts";
import { newUuid } from "../../domain/ids.ts";
import { ServiceError } from "../../domain/service-error.ts";
import type { JsonObject, MessageRecord } from "../../domain/trajectory.ts";
import { readForm } from "../input/body.ts";
import { chatForm } from "./chat-fields.ts";
import type { ChatRequestBody } from "./chat-request.ts";

/** How the answer is written. */
export interface ChatAnswerForm {
  readonly isStream: boolean;
  /** A last chunk with the usage. */
  readonly includesUsage: boolean;
  /** The usage so far in every chunk. */
  readonly usageInEveryChunk: boolean;
  /** Tokens of log-probabilities read `token_id:<N>` because the request said so. */
  readonly tokensAsIds: boolean;
}

export interface ReadChatRequest {
  readonly request: ChatRequest;
  readonly form: ChatAnswerForm;
  readonly ignored: readonly string[];
}

/**
 * Checks the whole body and reads it.
 *
 * @throws ServiceError `invalid` with every fault of shape, type, range and combination; when there is none,
 *   `unsupported` with every option that cannot be honoured
 */
export function readChatRequest(value: unknown): ReadChatRequest {
  const { value: body, ignored } = readForm(chatForm, value);
  refuseMedia(body);
  return { request: toRequest(body), form: formOf(body), ignored };
}

function refuseMedia({ messages }: ChatRequestBody): void {
  const faults = messages.flatMap(({ content }, message) =>
    (Array.isArray(content) ? content : []).flatMap((part, index) => {
      if (typeof part === "string" || textMemberOf(part.type) !== null) return [];
      const words = `This model reads text only; a content part of type ${JSON.stringify(part.type)} cannot be shown to it.`;
      const location = ["body", "messages", String(message), "content", String(index)];
      return [{ location, message: words, type: "unsupported" }];
    }),
  );
  if (faults.length === 0) return;
  const message = faults.map((fault) => fault.message).join(" ");
  throw new ServiceError({ code: "unsupported", message, faults });
}

function toRequest(body: ChatRequestBody): ChatRequest {
  const continueFinalMessage = body.continue_final_message ?? false;
  const { stop, tools, logprobs } = body;
  return {
    // It came out of JSON.
    messages: body.messages as readonly MessageRecord[],
    model: body.model ?? null,
    requestId: body.request_id ?? newUuid(),
    choiceCount: body.n ?? 1,
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? null,
    temperature: body.temperature ?? null,
    topP: body.top_p ?? null,
    topK: topKOf(body),
    seed: body.seed ?? null,
    stop: typeof stop === "string" ? [stop] : (stop ?? []),
    logprobs:
      logprobs === true ? { topCount: body.top_logprobs ?? 0 } : logprobs === false ? null : undefined,
    returnTokenIds: body.return_token_ids ?? undefined,
    addGenerationPrompt: body.add_generation_prompt ?? !continueFinalMessage,
    continueFinalMessage,
    tools:
      tools === null || tools === undefined || tools.length === 0 ? null : (tools as readonly JsonObject[]),
  };
}

/** -1 is another spelling of 0, which is off. */
function topKOf(body: ChatRequestBody): number | null {
  return body.top_k === -1 ? 0 : (body.top_k ?? null);
}

function formOf(body: ChatRequestBody): ChatAnswerForm {
  const options = body.stream_options ?? null;
  // An object without the flag asks for the usage, as with the engine whose interface this is.
  const includesUsage = options !== null && (options.include_usage ?? true);
  return {
    isStream: body.stream ?? false,
    includesUsage,
    usageInEveryChunk: includesUsage && (options?.continuous_usage_stats ?? false),
    tokensAsIds: body.return_tokens_as_token_ids ?? false,
  };
}
