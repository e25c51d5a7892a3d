// The one way from a conversation to the token ids of a prompt, for serving and for training alike: were there two, a
// model would train on other prompts than it is served.
import { chatFault, type Conversation } from "../../base/domain/chat.ts";
import { ServiceError, type Fault } from "../../base/domain/service-error.ts";
import type { ChatTemplate } from "./chat-template.ts";
import { encodePrompt, fitPrompt, requireLeast, unlimitedFit, type PromptFit } from "./encode-prompt.ts";
import type { Tokenizer } from "../../lib/tokenizer/tokenizer.ts";
import type { Json } from "../../base/domain/text/json.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";

/** What a template may take for one conversation. */
export interface RenderLimits {
  readonly timeMs: number;
  /** Characters of the rendered text, and of each that leads to it; items of a list count alike. */
  readonly lengthMax: number;
}

/** A template that reached a limit; with a greater one it may end. */
export class RenderLimitError extends ServiceError {}

export interface RenderOptions {
  /** Without it a prompt must not be empty, and may be of any length. */
  readonly fit?: PromptFit;
  /** Whether the template is the request's own, which is then at fault for what it renders. */
  readonly isRequests?: boolean;
  /** Adds the tokenizer's special tokens to those that the template writes itself. */
  readonly addSpecialTokens?: boolean;
  readonly limits?: RenderLimits;
  /** Called between rendering and tokenizing. */
  readonly onRendered?: () => void;
}

/**
 * Renders and tokenizes.
 *
 * @throws ServiceError `unsupported` for a prompt that does not fit, and as {@link ChatTemplate.render} does;
 * {@link RenderLimitError} where the template reaches a limit
 */
export function renderPrompt(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  conversation: Conversation,
  options: RenderOptions = {},
): readonly number[] {
  const { fit = unlimitedFit, addSpecialTokens = false } = options;
  const kind = options.isRequests === true ? "rendered" : "conversation";
  // A template shows each message by a token at least, and takes as long to show the last as the first.
  requireLeast(conversation.messages.length, kind, fit);
  const { sampled, messages } = withoutSampled(conversation.messages);
  const text = renderConversation(template, { ...conversation, messages }, options.limits);
  options.onRendered?.();
  const known = addSpecialTokens || sampled === null ? null : behindSampled(tokenizer, text, sampled);
  return known === null
    ? encodePrompt(tokenizer, text, { kind, fit, addSpecialTokens })
    : fitPrompt(known, kind, fit);
}

/** As {@link ChatTemplate.render}; throws {@link RenderLimitError} where the template reaches a limit. */
export function renderConversation(
  template: ChatTemplate,
  conversation: Conversation,
  limits?: RenderLimits,
): string {
  if (limits === undefined) return template.render(conversation);
  return template.render(conversation, {
    ...limits,
    onTimeUp: () => renderedTooSlowly(limits),
    onTooLong: () => renderedTooLong(limits),
  });
}

/** The refusal of messages that the template has not rendered in time. */
export function renderedTooSlowly({ timeMs }: RenderLimits): RenderLimitError {
  const message =
    `The chat template has not rendered these messages within ${timeMs / 1000} s. ` +
    "Send fewer or shorter messages; a template that never ends must be corrected.";
  return new RenderLimitError({ code: "unsupported", faults: [messagesFault(message)] });
}

function renderedTooLong({ lengthMax }: RenderLimits): RenderLimitError {
  const message =
    `The chat template makes more than ${lengthMax} characters, or as long a list, of these messages. ` +
    "Send fewer or shorter messages.";
  return new RenderLimitError({ code: "unsupported", faults: [messagesFault(message)] });
}

function messagesFault(message: string): Fault {
  return chatFault("prompt.messages", { message, type: "value_error" });
}

// The tokens of an earlier answer as the beginning of the next prompt. A text can be tokenized in several ways: tokenized
// anew, an answer may become other tokens than the model sampled, and what follows then continues a conversation that the
// model never had. Pure.

/**
 * Takes the tokens off the messages, which templates do not know.
 *
 * @returns the tokens of the last answer that carries its own and its prompt's; null where none does
 */
export function withoutSampled(messages: readonly MessageRecord[]): {
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
 * Returns the tokens of a rendered prompt that begins with sampled ones.
 *
 * @returns null where the prompt does not begin with the text of those tokens: the template drops something, or a message
 *   was changed
 */
export function behindSampled(
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
  // A tokenizer may put a blank before a text that begins anew.
  return textOf(whole) === text ? whole : null;
}

function isIdList(value: Json | undefined): value is readonly number[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((id) => Number.isInteger(id) && Number(id) >= 0)
  );
}
