// Converts an example conversation to token sequences. Each assistant message is trained on, including its end of turn,
// after the prompt that serving would render. There are no log-probabilities, because no policy sampled the messages.
import type { ExampleConversation } from "../../base/domain/supervised/conversation.ts";
import type { AssistantTurns } from "../../base/domain/supervised/supervised-config.ts";
import { cut } from "../../base/domain/service-error.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import { type PromptArguments, promptArgumentsOf } from "./conversation-tokenizer.ts";
import type { Turn, UntrainedReason } from "./history-turns.ts";
import { sequencesOfTurns, type TokenSequence } from "./sequences.ts";

/** A rendered prompt and the answer that the model should learn to give. */
export interface RenderedTurn {
  readonly promptTokenIds: readonly number[];
  /** Tokens of the answer, including the end-of-turn token if the chat template writes one. */
  readonly answerTokenIds: readonly number[];
}

/** Renders prompts and answers with a model's chat template. */
export interface TurnRenderer {
  /** Number of token ids in the vocabulary; ids are in [0, vocabularySize). */
  readonly vocabularySize: number;
  /**
   * Renders the last message, which is the assistant's, and the prompt before it. Throws if the template refuses the
   * conversation, or renders no answer.
   */
  renderTurn(
    messages: readonly JsonObject[],
    tools: readonly JsonObject[] | null,
    promptArguments: Omit<PromptArguments, "lost">,
  ): RenderedTurn;
}

/** The training sequences of a conversation, or the reason why it is excluded from training. */
export type ExampleSequences =
  | { readonly sequences: readonly TokenSequence[] }
  | { readonly reason: UntrainedReason; readonly detail: string };

/**
 * Converts a conversation to sequences. Consecutive turns share a sequence for as long as each prompt extends the turns
 * before it. If the template omits earlier reasoning, there are therefore several sequences.
 */
export function exampleSequences(
  { messages, tools, extra }: ExampleConversation,
  renderer: TurnRenderer,
  assistantTurns: AssistantTurns = "all",
): ExampleSequences {
  const { lost, ...promptArguments } = promptArgumentsOf(extra);
  if (lost !== undefined) return unrenderable(`its ${lost} is not applied in training.`);
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    if (!trains(message)) continue;
    if (assistantTurns === "last" && index < messages.length - 1) continue;
    const place = `Message ${index}`;
    let rendered: RenderedTurn;
    try {
      rendered = renderer.renderTurn(messages.slice(0, index + 1).map(withoutWeight), tools, promptArguments);
    } catch (error) {
      return unrenderable(`${place}: ${cut(error instanceof Error ? error.message : String(error))}`);
    }
    const { promptTokenIds, answerTokenIds } = rendered;
    const strange = [...promptTokenIds, ...answerTokenIds].find((id) => id >= renderer.vocabularySize);
    if (strange !== undefined) {
      const detail = `${place} holds token ${strange}, which this model does not have.`;
      return { reason: "unreadable_tokens", detail };
    }
    const logprobs = answerTokenIds.map(() => NaN);
    turns.push({ promptTokenIds, isRendered: true, tokenIds: answerTokenIds, logprobs });
  }
  const sequences = sequencesOfTurns(turns)
    .map(({ sequence }) => sequence)
    .filter(({ mask }) => mask.includes(1));
  if (sequences.length > 0) return { sequences };
  return { reason: "no_trainable_tokens", detail: "None of its assistant messages trains." };
}

/** True if the message is to be trained on. Clients give weight 0 to messages that are only context. */
function trains(message: JsonObject): boolean {
  return message["role"] === "assistant" && message["weight"] !== 0;
}

/** Removes the training weight from a message, because serving never receives one. */
function withoutWeight({ weight: _weight, ...message }: JsonObject): JsonObject {
  return message;
}

function unrenderable(why: string): ExampleSequences {
  return { reason: "unrenderable", detail: `It cannot be rendered: ${why}` };
}
