// Turns conversations and assistant turns into tokens, using a model folder's tokenizer and chat template. Serving
// uses the same renderer for prompts.
import { type Conversation, plainConversation } from "../../base/domain/chat.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import type { ChatTemplate } from "../../inference/chat-templates/chat-template.ts";
import { renderPrompt, renderConversation } from "../../inference/chat-templates/render-prompt.ts";
import type { Tokenizer } from "../../lib/tokenizer/tokenizer.ts";
import type { ConversationTokenizer } from "../trajectories/conversation-tokenizer.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { TurnRenderer } from "../trajectories/example-sequences.ts";

/**
 * Creates a tokenizer of whole conversations.
 * @param vocabularySize number of ids that the model's logits cover
 */
export function createConversationTokenizer(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  vocabularySize: number,
): ConversationTokenizer {
  let idOfBytes: ReadonlyMap<string, number> | null = null;
  return {
    vocabularySize,
    encode: (text) => tokenizer.encode(text, { addSpecialTokens: false }),
    renderPrompt: (messages, tools, { addSpecialTokens = false, ...asked }) => {
      const conversation = {
        // Safe cast: the template refuses or leaves out a message without a role, as in serving.
        messages: messages as readonly MessageRecord[],
        ...plainConversation,
        tools,
        ...asked,
      };
      return renderPrompt(tokenizer, template, conversation, { addSpecialTokens });
    },
    idOfToken: (text, bytes) => {
      idOfBytes ??= indexTokens(tokenizer);
      return idOfBytes.get(keyOf(bytes === null ? Buffer.from(text, "utf8") : Buffer.from(bytes))) ?? null;
    },
  };
}

/** Maps each token's bytes to its id. If tokens share their bytes, the lowest id wins. */
function indexTokens(tokenizer: Tokenizer): ReadonlyMap<string, number> {
  const idOfBytes = new Map<string, number>();
  for (let id = tokenizer.vocabularySize - 1; id >= 0; id--) {
    const bytes = tokenizer.tokenBytes(id);
    if (bytes.length > 0) idOfBytes.set(keyOf(bytes), id);
  }
  return idOfBytes;
}

function keyOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

/** Properties of a model that its turns depend on. */
export interface TurnModel {
  readonly tokenizer: Tokenizer;
  readonly template: ChatTemplate;
  /** Number of ids that the model's logits cover. */
  readonly vocabularySize: number;
  /** Ids that end a turn, as in serving. */
  readonly endTokenIds: readonly number[];
}

/**
 * Creates a renderer of turns. It renders and tokenizes the prompt as serving does, and separately the text that the
 * template adds for the answer.
 */
export function createTurnRenderer(model: TurnModel): TurnRenderer {
  const { tokenizer, template, vocabularySize } = model;
  return {
    vocabularySize,
    renderTurn: (messages, tools, { addSpecialTokens = false, ...asked }) => {
      const whole: Conversation = {
        // Safe cast: the template refuses or leaves out a message without a role, as in serving.
        messages: messages as readonly MessageRecord[],
        ...plainConversation,
        tools,
        ...asked,
        addGenerationPrompt: false,
        continueFinalMessage: false,
      };
      const before = { ...whole, messages: whole.messages.slice(0, -1), addGenerationPrompt: true };
      const answer = textAfterPrompt(template, before, renderConversation(template, whole));
      const answerTokenIds = truncateAtEnd(tokenizer.encode(answer, { addSpecialTokens: false }), model);
      return {
        promptTokenIds: renderPrompt(tokenizer, template, before, { addSpecialTokens }),
        answerTokenIds,
      };
    },
  };
}

/** Returns the part of the conversation's text after the prompt. */
function textAfterPrompt(template: ChatTemplate, before: Conversation, whole: string): string {
  const prompt = renderConversation(template, before);
  if (whole.length > prompt.length && whole.startsWith(prompt)) return whole.slice(prompt.length);
  throw new ServiceError({
    code: "unsupported",
    message:
      "The chat template writes this answer after another prompt than the one it makes for a request, " +
      "so the answer to that prompt is unknown.",
  });
}

/**
 * Cuts off the text after the end of the turn. In serving, generation stops there, so the text that follows belongs to
 * the next prompt.
 */
function truncateAtEnd(
  ids: readonly number[],
  { endTokenIds }: Pick<TurnModel, "endTokenIds">,
): readonly number[] {
  const end = ids.findLastIndex((id) => endTokenIds.includes(id));
  return end < 0 ? ids : ids.slice(0, end + 1);
}
