// The one way from a conversation to the token ids of a prompt, for serving and for training alike: were there two, a
// model would train on other prompts than it is served.
import { chatFault, type ChatPrompt, type Conversation } from "../domain/chat.ts";
import { ServiceError, type Fault } from "../domain/service-error.ts";
import type { ChatTemplate } from "./chat-template.ts";
import { promptRefusal, promptTooLong } from "./prompt-faults.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** What a template may take for one conversation; each with the setting it comes from, for messages. */
export interface RenderLimits {
  readonly time: { readonly ms: number; readonly setting: string };
  /** Of the rendered text, and of each that leads to it; items of a list count alike. */
  readonly characters: { readonly max: number; readonly setting: string };
}

/** A template that reached a limit; with a greater one it may end. */
export class RenderLimitError extends ServiceError {}

export interface RenderOptions {
  /** When given, a prompt that leaves no room for an answer is refused, a far too long one before it is tokenized. */
  readonly contextLength?: number;
  readonly limits?: RenderLimits;
  /** Called between rendering and tokenizing. */
  readonly onRendered?: () => void;
}

/**
 * Renders and tokenizes. The template writes special tokens itself, so none are added.
 *
 * @throws ServiceError `unsupported` for a prompt that is empty or too long, and as {@link ChatTemplate.render} does;
 * {@link RenderLimitError} where the template reaches a limit
 */
export function renderPrompt(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  conversation: Conversation,
  options: RenderOptions = {},
): number[] {
  const { contextLength = Infinity, limits } = options;
  const messageCount = conversation.messages.length;
  // A template shows each message by a token at least, and takes as long to show the last as the first.
  if (messageCount >= contextLength)
    throw promptTooLong("conversation", contextLength, `at least ${messageCount}`);
  const text = render(template, conversation, limits);
  options.onRendered?.();
  return encodePrompt(tokenizer, text, { kind: "conversation", addSpecialTokens: false, contextLength });
}

/**
 * Tokenizes what is to be a prompt of its kind.
 *
 * @throws ServiceError `unsupported` for a prompt that is empty, or leaves no room for an answer; a far too long one before
 * it is tokenized
 */
export function encodePrompt(
  tokenizer: Tokenizer,
  text: string,
  {
    kind,
    addSpecialTokens,
    contextLength,
  }: {
    readonly kind: Exclude<ChatPrompt["kind"], "tokens">;
    readonly addSpecialTokens: boolean;
    readonly contextLength: number;
  },
): number[] {
  const leastCount = tokenizer.leastTokenCount(text);
  if (leastCount >= contextLength) throw promptTooLong(kind, contextLength, `at least ${leastCount}`);
  const ids = tokenizer.encode(text, { addSpecialTokens });
  if (ids.length === 0) throw promptRefusal(kind, emptyPrompt[kind]);
  if (ids.length >= contextLength) throw promptTooLong(kind, contextLength, String(ids.length));
  return ids;
}

const emptyPrompt = {
  conversation: "The chat template renders these messages to an empty prompt; send a message with content.",
  text: "The prompt is empty; send a text with at least one token.",
};

function render(template: ChatTemplate, conversation: Conversation, limits?: RenderLimits): string {
  if (limits === undefined) return template.render(conversation);
  const { time, characters } = limits;
  return template.render(conversation, {
    timeMs: time.ms,
    onTimeUp: () => renderedTooSlowly(time),
    lengthMax: characters.max,
    onTooLong: () => renderedTooLong(characters),
  });
}

/** The refusal of messages that the template has not rendered in time. */
export function renderedTooSlowly({ ms, setting }: RenderLimits["time"]): RenderLimitError {
  const message =
    `The chat template has not rendered these messages within ${ms / 1000} s (${setting}). ` +
    "Send fewer or shorter messages; if it never ends, whoever runs the server must correct the template.";
  return new RenderLimitError({ code: "unsupported", faults: [messagesFault(message)] });
}

function renderedTooLong({ max, setting }: RenderLimits["characters"]): RenderLimitError {
  const message =
    `The chat template makes more than ${max} characters, or as long a list, of these messages (${setting}). ` +
    "Send fewer or shorter messages.";
  return new RenderLimitError({ code: "unsupported", faults: [messagesFault(message)] });
}

function messagesFault(message: string): Fault {
  return chatFault("prompt.messages", { message, type: "value_error" });
}
