// From a conversation that a model is to learn to token sequences: its assistant messages train, each behind the prompt
// that serving would give for it, with what ends the turn. Log-probabilities are not recorded: nobody sampled these.
import type { ExampleConversation } from "../../base/domain/supervised/conversation.ts";
import type { AssistantTurns } from "../../base/domain/supervised/supervised-config.ts";
import { cut } from "../../base/domain/service-error.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import { type PromptArguments, promptArgumentsOf } from "./conversation-tokenizer.ts";
import type { Turn, UntrainedReason } from "./history-turns.ts";
import { sequencesOfTurns, type TokenSequence } from "./sequences.ts";

/** A prompt, and the answer that the model should give to it. */
export interface RenderedTurn {
  readonly promptTokenIds: readonly number[];
  /** Up to the token that ends the turn, where the template writes one. */
  readonly answerTokenIds: readonly number[];
}

/** How a model's prompts and answers are written. */
export interface TurnRenderer {
  /** Ids are in [0, vocabularySize). */
  readonly vocabularySize: number;
  /**
   * Renders the last message, an assistant's, behind the prompt for it; throws what the template raises, and where it shows
   * no answer behind the prompt.
   */
  renderTurn(
    messages: readonly JsonObject[],
    tools: readonly JsonObject[] | null,
    promptArguments: Omit<PromptArguments, "lost">,
  ): RenderedTurn;
}

/** What a conversation gives, or why it does not train. */
export type ExampleSequences =
  | { readonly sequences: readonly TokenSequence[] }
  | { readonly reason: UntrainedReason; readonly detail: string };

/**
 * Turns a conversation into sequences, one as long as every prompt goes on from the turns before; a template that leaves
 * out earlier thoughts gives several.
 *
 * @param assistantTurns which messages train; `last` takes the last message alone
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
      rendered = renderer.renderTurn(messages.slice(0, index + 1).map(asShown), tools, promptArguments);
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
  return { reason: "no_trainable_tokens", detail: "No assistant message of it trains." };
}

/** Whether a message is an answer to learn: clients give those that are only context the weight 0. */
function trains(message: JsonObject): boolean {
  return message["role"] === "assistant" && message["weight"] !== 0;
}

/** As serving gets it: what says how a message trains is no part of it. */
function asShown({ weight: _weight, ...message }: JsonObject): JsonObject {
  return message;
}

function unrenderable(why: string): ExampleSequences {
  return { reason: "unrenderable", detail: `It cannot be rendered: ${why}` };
}
