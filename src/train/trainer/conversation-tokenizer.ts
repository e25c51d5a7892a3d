// Turns conversations and assistant turns into tokens, with the tokenizer and chat template of a model folder. Renders
// prompts with the same code as serving.
import { type Conversation, plainConversation } from "../../base/domain/chat.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import type { ChatTemplate } from "../../inference/chat-templates/chat-template.ts";
import { renderPrompt, renderConversation } from "../../inference/chat-templates/render-prompt.ts";
import type { Tokenizer } from "../../lib/tokenizer/tokenizer.ts";
import type { ConversationTokenizer } from "../trajectories/conversation-tokenizer.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { TurnRenderer } from "../trajectories/example-sequences.ts";

/**
 * Creates a tokenizer for whole conversations.
 *
 * @param vocabularySize number of token ids for which the model computes logits
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
        // Safe cast: as in serving, the template refuses or omits a message without a role.
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

/** Maps the bytes of each token to its id. If several tokens have the same bytes, uses the lowest id. */
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

/** Properties of a model that determine how the turns of a conversation are tokenized. */
export interface TurnModel {
  readonly tokenizer: Tokenizer;
  readonly template: ChatTemplate;
  /** Number of token ids for which the model computes logits. */
  readonly vocabularySize: number;
  /** Ids of the tokens at which serving ends a turn. */
  readonly endTokenIds: readonly number[];
}

/**
 * Creates a renderer for turns. The renderer renders and tokenizes the prompt as serving does. It tokenizes the
 * answer's text, as the template writes it, separately from the prompt.
 */
export function createTurnRenderer(model: TurnModel): TurnRenderer {
  const { tokenizer, template, vocabularySize } = model;
  return {
    vocabularySize,
    renderTurn: (messages, tools, { addSpecialTokens = false, ...asked }) => {
      const whole: Conversation = {
        // Safe cast: as in serving, the template refuses or omits a message without a role.
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

/** Returns the part of the rendered conversation that follows the prompt. */
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
 * Cuts off the tokens after the end of the turn. Generation stops there in serving, so the following text belongs to
 * the next prompt.
 */
function truncateAtEnd(
  ids: readonly number[],
  { endTokenIds }: Pick<TurnModel, "endTokenIds">,
): readonly number[] {
  const end = ids.findLastIndex((id) => endTokenIds.includes(id));
  return end < 0 ? ids : ids.slice(0, end + 1);
}
