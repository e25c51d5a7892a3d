// Converts a recorded history to the model's turns, each with its prompt. Uses recorded tokens if there are any;
// otherwise, renders the conversation as serving would. Reports the paths of parts that cannot be trained on, and
// refuses contradictory records.
import { joinedText } from "../../base/domain/content-part.ts";
import { cut, ServiceError } from "../../base/domain/service-error.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import { asChoice, type ChoiceRecord, type History, type HistoryItem } from "../../base/domain/trajectory.ts";
import {
  type ConversationTokenizer,
  type PromptArguments,
  promptArgumentsOf,
} from "./conversation-tokenizer.ts";
import { readRecordedTokens } from "./recorded-choice.ts";

/** One answer of the model, and its prompt. */
export interface Turn {
  readonly promptTokenIds: readonly number[];
  /** True if the record contains no prompt tokens, so that the prompt was rendered from its messages. */
  readonly isRendered: boolean;
  readonly tokenIds: readonly number[];
  readonly logprobs: readonly number[];
}

/** Reason why a part of a trajectory is excluded from training, independent of its reward. */
export type UntrainedReason =
  /** A choice without recorded tokens. It serves only as context for later turns. */
  | "choice_without_tokens"
  /**
   * A history with assistant messages but without choices, in a trajectory whose other histories have choices. Only the
   * choices are trained on.
   */
  | "history_without_choice"
  /** An assistant message that cannot be trained on, because it calls tools or lacks text. */
  | "message_without_text"
  /** A history with a token that is not in this model's vocabulary. */
  | "unreadable_tokens"
  /** A history that the chat template rejects. */
  | "unrenderable"
  /** A trajectory without any trainable tokens. */
  | "no_trainable_tokens";

/** A part of a trajectory that is excluded from training. */
export interface Untrained {
  readonly reason: UntrainedReason;
  /** Path of the part within the trajectory, with the API's field names; empty for the whole trajectory. */
  readonly location: readonly string[];
  /** One sentence that explains the reason to the job's creator. */
  readonly detail: string;
}

export interface HistoryTurns {
  readonly turns: readonly Turn[];
  readonly untrained: readonly Untrained[];
}

export interface HistoryContext {
  readonly tokenizer: ConversationTokenizer;
  /** Path of the history within its trajectory. */
  readonly location: readonly string[];
  /** Prompt options that apply to the whole trajectory. A choice's own options take precedence. */
  readonly promptArguments: PromptArguments;
}

/**
 * Returns the turns that a history records as choices.
 *
 * @throws ServiceError `invalid` with the path of the choice if a record contradicts itself or has a token id outside
 * the vocabulary
 */
export function choiceTurns(history: History, context: HistoryContext): HistoryTurns {
  return readTurns(history, context, (item, index, place) => {
    const choice = asChoice(item);
    return choice === null ? null : choiceTurn(choice, { history, index, place }, context);
  });
}

/** Returns a turn for each assistant message of a history without choices. Their log-probabilities are unknown. */
export function assistantTurns(history: History, context: HistoryContext): HistoryTurns {
  return readTurns(history, context, (item, index, place) =>
    isAssistantMessage(item) ? assistantTurn(item, { history, index, place }, context) : null,
  );
}

/**
 * Returns all turns of the model in a history. A choice yields its recorded tokens, or its text if it has no tokens; an
 * assistant message yields its text. Log-probabilities of text are unknown.
 *
 * @throws ServiceError as {@link choiceTurns}
 */
export function allTurns(history: History, context: HistoryContext): HistoryTurns {
  return readTurns(history, context, (item, index, place) => {
    const at = { history, index, place };
    const choice = asChoice(item);
    if (choice === null) return isAssistantMessage(item) ? assistantTurn(item, at, context) : null;
    const recorded = choiceTurn(choice, at, context);
    if (!("reason" in recorded) || recorded.reason !== "choice_without_tokens") return recorded;
    const promptArguments = { ...context.promptArguments, ...promptArgumentsOf(choice) };
    return assistantTurn(messageOfChoice(choice), at, { ...context, promptArguments });
  });
}

export function isAssistantMessage(item: HistoryItem): boolean {
  return asChoice(item) === null && item["role"] === "assistant";
}

/** Position of an item in a history. */
interface ItemPlace {
  readonly history: History;
  readonly index: number;
  readonly place: readonly string[];
}

type TurnReader = (item: HistoryItem, index: number, place: readonly string[]) => Turn | Untrained | null;

/** Reasons that exclude the whole history, because the tokens before its later turns would be unknown. */
const dropsHistory: readonly UntrainedReason[] = ["unreadable_tokens", "unrenderable"];

function readTurns(history: History, { location }: HistoryContext, read: TurnReader): HistoryTurns {
  const turns: Turn[] = [];
  const untrained: Untrained[] = [];
  for (const [index, item] of history.messagesAndChoices.entries()) {
    const result = read(item, index, [...location, "messages_and_choices", String(index)]);
    if (result === null) continue;
    if ("tokenIds" in result) {
      turns.push(result);
      continue;
    }
    untrained.push(result);
    if (dropsHistory.includes(result.reason)) return { turns: [], untrained };
  }
  return { turns, untrained };
}

function choiceTurn(choice: ChoiceRecord, at: ItemPlace, context: HistoryContext): Turn | Untrained {
  const { tokenizer, promptArguments } = context;
  try {
    const recorded = readRecordedTokens(choice, tokenizer.idOfToken, tokenizer.vocabularySize);
    if (recorded === null || recorded.tokenIds.length === 0) {
      const detail =
        "This choice recorded no tokens: neither token_ids, nor logprobs.content. Its text trains with allow_training_without_logprobs.";
      return { reason: "choice_without_tokens", location: at.place, detail };
    }
    const { tokenIds, logprobs, promptTokenIds } = recorded;
    if (promptTokenIds === null) {
      const given = { ...promptArguments, ...promptArgumentsOf(choice) };
      return behindRendered({ tokenIds, logprobs }, at, { tokenizer, promptArguments: given });
    }
    return { promptTokenIds, isRendered: false, tokenIds, logprobs };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { code, message } = error;
    if (code === "unsupported") return { reason: "unreadable_tokens", location: at.place, detail: message };
    const faults = [{ location: at.place, message, type: "value_error" }];
    throw new ServiceError({ code, message, faults, cause: error });
  }
}

/**
 * Returns a turn with the text of an assistant message. Excludes a message with tool calls, because its tokens cannot
 * be known.
 */
function assistantTurn(message: JsonObject, at: ItemPlace, context: HistoryContext): Turn | Untrained {
  const { content, tool_calls: toolCalls } = message;
  const text = joinedText(content ?? null);
  const callsTools = Array.isArray(toolCalls) && toolCalls.length > 0;
  const tokenIds = callsTools || text === null ? [] : context.tokenizer.encode(text);
  if (tokenIds.length === 0) {
    const detail = callsTools
      ? "This message calls tools, so its tokens are not known; send it as a choice with its tokens."
      : "This message holds no text.";
    return { reason: "message_without_text", location: at.place, detail };
  }
  const strange = strangeId(tokenIds, context.tokenizer);
  if (strange !== undefined) {
    const detail = `Its text holds token ${strange}, which this model does not have.`;
    return { reason: "unreadable_tokens", location: at.place, detail };
  }
  return behindRendered({ tokenIds, logprobs: tokenIds.map(() => NaN) }, at, context);
}

function behindRendered(
  answer: Pick<Turn, "tokenIds" | "logprobs">,
  { history, index, place }: ItemPlace,
  { tokenizer, promptArguments }: Pick<HistoryContext, "tokenizer" | "promptArguments">,
): Turn | Untrained {
  const messages = history.messagesAndChoices.slice(0, index).map(asMessage);
  const refused = (why: string): Untrained => {
    const detail = `The messages before it cannot be rendered: ${cut(why)}`;
    return { reason: "unrenderable", location: place, detail };
  };
  const { lost, ...given } = promptArguments;
  if (lost !== undefined) {
    return refused(`its ${lost} is not applied in training; send the choice with its prompt_token_ids.`);
  }
  let promptTokenIds: readonly number[];
  try {
    promptTokenIds = tokenizer.renderPrompt(messages, toolsOf(history), given);
  } catch (error) {
    return refused(error instanceof Error ? error.message : String(error));
  }
  const strange = strangeId(promptTokenIds, tokenizer);
  if (strange !== undefined) return refused(`they hold token ${strange}, which this model does not have.`);
  return { promptTokenIds, isRendered: true, ...answer };
}

/**
 * Returns a history's tools in the format of a request. An empty list becomes null, and a bare function is wrapped as a
 * tool.
 */
function toolsOf({ tools }: History): readonly JsonObject[] | null {
  if (tools === null || tools.length === 0) return null;
  return tools.map((tool) =>
    tool["function"] === undefined && typeof tool["name"] === "string"
      ? { type: "function", function: tool }
      : tool,
  );
}

/** Returns an item of a history as the message that a client would send back in its next request. */
function asMessage(item: HistoryItem): JsonObject {
  const choice = asChoice(item);
  return choice === null ? item : messageOfChoice(choice);
}

function messageOfChoice({ message }: ChoiceRecord): JsonObject {
  const { content = null, tool_calls: toolCalls, reasoning, reasoning_content: reasoningContent } = message;
  const hasToolCalls = Array.isArray(toolCalls) && toolCalls.length > 0;
  const thought = reasoning ?? reasoningContent ?? null;
  return {
    role: "assistant",
    content,
    ...(hasToolCalls ? { tool_calls: toolCalls } : {}),
    ...(thought === null ? {} : { reasoning_content: thought }),
  };
}

function strangeId(
  ids: readonly number[],
  { vocabularySize }: Pick<ConversationTokenizer, "vocabularySize">,
): number | undefined {
  return ids.find((id) => id < 0 || id >= vocabularySize);
}
