// Writes the complete answer to a chat request. It contains every declared field, even those that are null.
import { assert } from "../../../base/domain/assert.ts";
import type {
  ChatDelta,
  ChatFinish,
  ChatHeader,
  ChatRequest,
  ChatUsage,
  ToolCallDelta,
} from "../../../base/domain/chat.ts";
import { JsonList, type TakeBytes } from "../json-text.ts";
import { tokenEntry, promptLogprobsBody } from "./chat-logprobs.ts";
import { passingParams } from "../transfer/passing-params.ts";
import type { ChatAnswerForm } from "./read-chat-request.ts";

/** Content of one choice that has arrived so far, without log-probabilities. */
export interface GatheredChoice {
  text: string;
  reasoning: string;
  /** Tool calls of the choice, by the index of the call. */
  readonly toolCalls: ToolCallDelta[];
  readonly tokenIds: number[];
  finish: ChatFinish | null;
}

/**
 * Returns a collector for one complete answer. For each step, its `add` takes the step's deltas.
 *
 * @param take called with the number of bytes that the answer adds in memory; if it throws, `add` throws the same error
 */
export function chatAnswer(
  { identity: { requestId } }: ChatRequest,
  form: ChatAnswerForm,
  { header, take }: { readonly header: ChatHeader; readonly take: TakeBytes },
) {
  const choices = newChoices(header.choiceCount, header);
  const logprobs = choices.map(() => new JsonList(take));
  const asIds = spellsIds(header, form);
  const hasLogprobs = header.logprobs !== "off";
  return {
    add: (deltas: readonly ChatDelta[]): void => {
      for (const delta of deltas) {
        addDelta(choices, delta);
        if (!hasLogprobs) continue;
        for (const logprob of delta.logprobs) logprobs[delta.choice].add(tokenEntry(logprob, asIds));
      }
    },
    end: (usage: ChatUsage): object => ({
      id: `chatcmpl-${requestId}`,
      request_id: requestId,
      object: "chat.completion",
      created: Math.floor(header.createdAt.getTime() / 1000),
      model: header.model,
      choices: choices.map((choice, index) => ({
        index,
        ...choiceBody(choice, header, hasLogprobs ? logprobs[index] : null),
      })),
      service_tier: "default",
      system_fingerprint: header.fingerprint,
      usage: usageBody(usage),
      prompt_logprobs: header.promptLogprobs && promptLogprobsBody(header.promptLogprobs),
      prompt_token_ids: header.tokenIds.top ? header.promptTokenIds : null,
      kv_transfer_params: passingParams(header.heldAt),
    }),
  };
}

/** Returns the choices of a request before its first token. They contain only the echoed text. */
export function newChoices(count: number, { echo }: ChatHeader): readonly GatheredChoice[] {
  return Array.from({ length: count }, () => ({
    text: echo,
    reasoning: "",
    toolCalls: [],
    tokenIds: [],
    finish: null,
  }));
}

/** Appends a delta to its choice, except for the log-probabilities. */
export function addDelta(choices: readonly GatheredChoice[], delta: ChatDelta): void {
  const choice = choices[delta.choice];
  assert(choice !== undefined, "a delta names one of the request's choices");
  choice.text += delta.text;
  choice.reasoning += delta.reasoning;
  for (const call of delta.toolCalls) {
    const before = choice.toolCalls[call.index];
    const argumentsText = (before?.argumentsText ?? "") + call.argumentsText;
    choice.toolCalls[call.index] = { ...before, ...call, argumentsText };
  }
  choice.tokenIds.push(...delta.tokenIds);
  choice.finish = delta.finish ?? choice.finish;
}

function choiceBody(choice: GatheredChoice, header: ChatHeader, logprobs: JsonList | null): object {
  const { finish, tokenIds } = choice;
  assert(finish !== null, "every choice finishes");
  return {
    message: messageBody(header.role, choice),
    logprobs: logprobs && { content: logprobs, refusal: null },
    ...finishBody(finish),
    token_ids: header.tokenIds.top || header.tokenIds.inChoices ? tokenIds : null,
    ...(header.tokenIds.inChoices ? { prompt_token_ids: header.promptTokenIds } : {}),
  };
}

/** Returns the content of a choice as a message of the API. */
export function messageBody(
  role: string,
  { text, reasoning, toolCalls }: Pick<GatheredChoice, "text" | "reasoning" | "toolCalls">,
): object {
  const thought = reasoning === "" ? null : reasoning;
  return {
    role,
    // The content is null if a message has only tool calls or thoughts.
    content: text === "" && (toolCalls.length > 0 || thought !== null) ? null : text,
    refusal: null,
    annotations: null,
    audio: null,
    function_call: null,
    tool_calls: toolCalls.map(callBody),
    reasoning: thought,
    reasoning_content: thought,
  };
}

/**
 * Returns a tool call, or the part of a tool call that a delta contains. Only one part of a call has the call's name.
 */
export function callBody({ id, name, argumentsText, isText }: ToolCallDelta): object {
  const named = name === undefined ? {} : { name };
  const type = isText === true ? "custom" : "function";
  return {
    ...(id === undefined ? {} : { id, type }),
    [type]: isText === true ? { ...named, input: argumentsText } : { ...named, arguments: argumentsText },
  };
}

export function finishBody(finish: ChatFinish): object {
  return { finish_reason: finish.reason, stop_reason: finish.stopReason, matched_stop: finish.matchedStop };
}

/**
 * True if log-probabilities name tokens as `token_id:<N>`, because the request asks for it or the kind of model
 * requires it.
 */
export function spellsIds(header: ChatHeader, form: ChatAnswerForm): boolean {
  return form.tokensAsIds || header.logprobs === "token-id";
}

export function usageBody(usage: ChatUsage, completionTokens = usage.completionTokens) {
  return {
    prompt_tokens: usage.promptTokens,
    total_tokens: usage.promptTokens + completionTokens,
    completion_tokens: completionTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
  };
}
