// Converts a conversation to the token ids of a prompt. Serving and training both use only this code: with separate
// code, the prompts in training could differ from those in serving.
import { chatFault, type Conversation } from "../../base/domain/chat.ts";
import type { Fault } from "../../base/domain/service-error.ts";
import type { ChatTemplate } from "./chat-template.ts";
import {
  encodePrompt,
  fitPrompt,
  requireMinimumFits,
  unlimitedFit,
  type PromptFit,
} from "./encode-prompt.ts";
import { continueTurn } from "./continue-turn.ts";
import { RenderLimitError } from "./prompt-faults.ts";
import type { Tokenizer } from "../../lib/tokenizer/tokenizer.ts";
import type { Json } from "../../base/domain/text/json.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";

/** Limits for rendering one conversation with a template. */
export interface RenderLimits {
  readonly timeMs: number;
  /**
   * Maximum number of characters of the rendered text and of each intermediate text. It is also the maximum number of
   * items in a list.
   */
  readonly lengthMax: number;
}

export interface RenderOptions {
  /** Length limits of the prompt. If absent, the prompt may have any length except 0. */
  readonly fit?: PromptFit;
  /** True if the template came with the request; faults of its output are then located at the template's field. */
  readonly isRequests?: boolean;
  /** True to add the tokenizer's special tokens, besides those that the template itself writes. */
  readonly addSpecialTokens?: boolean;
  readonly limits?: RenderLimits;
  /** Called between rendering and tokenizing. */
  readonly onRendered?: () => void;
}

/**
 * Renders and tokenizes a conversation.
 *
 * @throws ServiceError `unsupported` for a prompt that does not fit, and as {@link ChatTemplate.render} does; {@link
 * RenderLimitError} if the template reaches a limit
 */
export function renderPrompt(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  conversation: Conversation,
  options: RenderOptions = {},
): readonly number[] {
  const { fit = unlimitedFit, addSpecialTokens = false } = options;
  const kind = options.isRequests === true ? "rendered" : "conversation";
  // The number of messages is checked before rendering, because rendering takes time for each message, and each message
  // renders to at least one token.
  requireMinimumFits(conversation.messages.length, kind, fit);
  const { sampled, messages } = removeSampled(conversation.messages);
  const plain = { ...conversation, messages };
  const render = (one: Conversation): string => renderConversation(template, one, options.limits);
  const text = render(plain);
  const turn = conversation.sampled ?? null;
  const given = turn?.tokenIds ?? sampled;
  const known =
    addSpecialTokens || given === null
      ? null
      : (continueFromSampled(tokenizer, text, given) ??
        (turn && continueTurn(tokenizer, { text, conversation: plain }, turn, render)));
  options.onRendered?.();
  return known === null
    ? encodePrompt(tokenizer, text, { kind, fit, addSpecialTokens })
    : fitPrompt(known, kind, fit);
}

/** Renders as {@link ChatTemplate.render} does; throws {@link RenderLimitError} if the template reaches a limit. */
export function renderConversation(
  template: ChatTemplate,
  conversation: Conversation,
  limits?: RenderLimits,
): string {
  if (limits === undefined) return template.render(conversation);
  return template.render(conversation, {
    ...limits,
    onTimeUp: () => renderTimeoutError(limits),
    onTooLong: () => renderTooLongError(limits),
  });
}

/** Returns the error for messages that the template has not rendered in time. */
export function renderTimeoutError({ timeMs }: RenderLimits): RenderLimitError {
  const message =
    `The chat template has not rendered these messages within ${timeMs / 1000} s. ` +
    "Send fewer or shorter messages; a template that never ends must be corrected.";
  return new RenderLimitError({ code: "unsupported", faults: [messagesFault(message)] });
}

function renderTooLongError({ lengthMax }: RenderLimits): RenderLimitError {
  const message =
    `The chat template makes more than ${lengthMax} characters or list items of these messages. ` +
    "Send fewer or shorter messages.";
  return new RenderLimitError({ code: "unsupported", faults: [messagesFault(message)] });
}

function messagesFault(message: string): Fault {
  return chatFault("prompt.messages", { message, type: "value_error" });
}

// The following functions reuse the tokens of an earlier answer as the beginning of the next prompt. A text has several
// tokenizations, so tokenizing an answer again may give other tokens than the model sampled. The model would then
// continue a conversation that it never had.

/**
 * Removes the sampled tokens (`token_ids`, `prompt_token_ids`) from the messages, because templates do not know them.
 *
 * @returns the tokens of the last answer that has both its own tokens and those of its prompt; null if there is none
 */
export function removeSampled(messages: readonly MessageRecord[]): {
  readonly messages: readonly MessageRecord[];
  readonly sampled: readonly number[] | null;
} {
  let sampled: readonly number[] | null = null;
  const plain = messages.map((message): MessageRecord => {
    const { token_ids: own, prompt_token_ids: prompt, ...rest } = message;
    if (own === undefined && prompt === undefined) return message;
    if (message.role === "assistant" && isIdList(own) && isIdList(prompt)) sampled = [...prompt, ...own];
    return { ...rest, role: message.role };
  });
  return { messages: plain, sampled };
}

/**
 * Tokenizes a rendered prompt so that it begins with the sampled tokens.
 *
 * @returns null if the prompt does not begin with the text of the sampled tokens, because the template drops something,
 * or a message was changed
 */
export function continueFromSampled(
  tokenizer: Pick<Tokenizer, "decode" | "encode" | "vocabularySize">,
  text: string,
  sampled: readonly number[],
): readonly number[] | null {
  if (sampled.some((id) => id >= tokenizer.vocabularySize)) return null;
  const textOf = (ids: readonly number[]): string => tokenizer.decode(ids, { skipSpecialTokens: false });
  const before = textOf(sampled);
  if (text.length <= before.length || !text.startsWith(before)) return null;
  const rest = tokenizer.encode(text.slice(before.length), { addSpecialTokens: false });
  const whole = [...sampled, ...rest];
  // The whole texts are compared, because a tokenizer may put a blank before a text that it tokenizes separately.
  return textOf(whole) === text ? whole : null;
}

function isIdList(value: Json | undefined): value is readonly number[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((id) => Number.isInteger(id) && Number(id) >= 0)
  );
}
