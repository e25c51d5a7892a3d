// From a parsed body to the domain's ChatRequest, with everything about how to answer that only the wire knows.
import type { ChatRequest } from "../../domain/chat.ts";
import { textMemberOf } from "../../domain/content-part.ts";
import { newUuid } from "../../domain/ids.ts";
import type { JsonObject, MessageRecord } from "../../domain/trajectory.ts";
import { check, isObject, newFindings, refuseFaults, report, type Findings } from "../input/validation.ts";
import { checkCombinations, refuseUnserved } from "./chat-rules.ts";
import { chatRequestSchema, type ChatRequestBody } from "./chat-request.ts";

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
  const findings = newFindings("body");
  check(chatRequestSchema, value, findings);
  if (isObject(value)) checkCombinations(value, findings);
  if (isObject(value)) checkTextParts(value["messages"], findings);
  refuseFaults(findings.faults);
  // Nothing differs from the schema.
  const body = value as ChatRequestBody;
  refuseUnserved(body);
  return { request: toRequest(body), form: formOf(body), ignored: [...findings.ignored] };
}

/** A part that names itself a text must hold one. */
function checkTextParts(messages: unknown, findings: Findings): void {
  if (!Array.isArray(messages)) return;
  messages.forEach((message: unknown, messageIndex) => {
    if (!isObject(message) || !Array.isArray(message["content"])) return;
    message["content"].forEach((part: unknown, partIndex) => {
      if (!isObject(part)) return;
      const member = textMemberOf(part["type"]);
      if (member === null || typeof part[member] === "string") return;
      const place = ["messages", String(messageIndex), "content", String(partIndex), member];
      if (part[member] === undefined) report(findings, "missing", "Field required", ...place);
      else report(findings, "string_type", "Input should be a valid string", ...place);
    });
  });
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
