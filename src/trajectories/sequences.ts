// From a recorded trajectory to token sequences that can train: which tokens, which of them are the model's own,
// and what their log-probabilities were. Exact tokens where the record has them; otherwise the conversation is
// rendered as serving would render it. Knows nothing of rewards.
//
// A history becomes one sequence as long as every prompt begins with the sequence so far; where it does not
// (the template dropped an earlier thought, the client edited a message), a new sequence starts, so that every
// trained token stands behind exactly the prompt it answered.
//
// What is wrong with a trajectory: tokens that cannot be identified and conversations that the template refuses
// skip it with a reason; records that contradict themselves, or that hold ids this model does not have, fail the
// job, since they mean that the data belongs to another model.
import { ServiceError } from "../domain/service-error.ts";
import {
  type ChoiceRecord,
  type History,
  type HistoryItem,
  type JsonObject,
  type Trajectory,
  isChoiceRecord,
} from "../domain/trajectory.ts";
import { type TokenLookup, contradiction, readRecordedTokens } from "./recorded-choice.ts";

export interface TokenSequence {
  readonly tokenIds: Int32Array;
  /** 1 where the token trains; never the first. */
  readonly mask: Uint8Array;
  /** At trained tokens: what the policy that sampled them gave, NaN where unknown. NaN elsewhere. */
  readonly oldLogprobs: Float32Array;
}

/** The indices of the tokens that train, in order. */
export function trainedIndices({ mask }: Pick<TokenSequence, "mask">): readonly number[] {
  const indices: number[] = [];
  mask.forEach((trains, index) => {
    if (trains === 1) indices.push(index);
  });
  return indices;
}

/** The words of a model: what turning conversations into tokens needs to know of it. */
export interface ConversationTokenizer {
  /** Ids are in [0, vocabularySize). */
  readonly vocabularySize: number;
  /** The prompt that asks for the next assistant turn, as serving renders it; throws what the template raises. */
  renderPrompt(messages: readonly JsonObject[], tools: readonly JsonObject[] | null): readonly number[];
  /** Plain text, nothing added. */
  encode(text: string): readonly number[];
  readonly idOfToken: TokenLookup;
}

export type TrajectorySequences =
  | { readonly sequences: readonly TokenSequence[] }
  | { readonly skipped: "no_trainable_tokens" | "unreadable_tokens" | "unrenderable" };

/**
 * Turns a trajectory with all its histories into sequences, each with at least one trained token.
 *
 * @throws ServiceError `invalid` when a record contradicts itself or holds an id outside the vocabulary
 */
export function trajectorySequences(
  trajectory: Trajectory,
  tokenizer: ConversationTokenizer,
): TrajectorySequences {
  const histories: readonly History[] = [trajectory, ...trajectory.additionalHistories];
  const hasChoice = histories.some((history) => history.messagesAndChoices.some(isChoiceRecord));
  const turnsOf = hasChoice ? choiceTurns : assistantTurns;
  try {
    const sequences = histories.flatMap((history) => joinTurns(turnsOf(history, tokenizer), tokenizer));
    return sequences.length > 0 ? { sequences } : { skipped: "no_trainable_tokens" };
  } catch (error) {
    if (error instanceof TemplateFailure) return { skipped: "unrenderable" };
    if (error instanceof ServiceError && error.code === "unsupported")
      return { skipped: "unreadable_tokens" };
    throw error;
  }
}

/** One answer of the model and the prompt before it. */
interface Turn {
  readonly promptTokenIds: readonly number[];
  readonly tokenIds: readonly number[];
  readonly logprobs: readonly number[];
}

/** The chat template raised while a conversation was rendered. */
class TemplateFailure extends Error {}

function* choiceTurns(history: History, tokenizer: ConversationTokenizer): Generator<Turn> {
  for (const [index, item] of history.messagesAndChoices.entries()) {
    if (!isChoiceRecord(item)) continue;
    const recorded = readRecordedTokens(item, tokenizer.idOfToken);
    if (recorded === null || recorded.tokenIds.length === 0) continue;
    const { tokenIds, logprobs } = recorded;
    const promptTokenIds = recorded.promptTokenIds ?? renderBefore(history, index, tokenizer);
    yield { promptTokenIds, tokenIds, logprobs };
  }
}

/** The text of assistant messages; a message with tool calls is context, since its tokens cannot be known. */
function* assistantTurns(history: History, tokenizer: ConversationTokenizer): Generator<Turn> {
  for (const [index, item] of history.messagesAndChoices.entries()) {
    const { role, content, tool_calls: toolCalls } = item as JsonObject;
    if (role !== "assistant" || typeof content !== "string") continue;
    if (Array.isArray(toolCalls) && toolCalls.length > 0) continue;
    const tokenIds = tokenizer.encode(content);
    if (tokenIds.length === 0) continue;
    const promptTokenIds = renderBefore(history, index, tokenizer);
    yield { promptTokenIds, tokenIds, logprobs: tokenIds.map(() => NaN) };
  }
}

function renderBefore(history: History, index: number, tokenizer: ConversationTokenizer): readonly number[] {
  const messages = history.messagesAndChoices.slice(0, index).map(asMessage);
  try {
    return tokenizer.renderPrompt(messages, history.tools);
  } catch (cause) {
    throw new TemplateFailure("the chat template refused the conversation", { cause });
  }
}

/** The message a client would send back in the next request. */
function asMessage(item: HistoryItem): JsonObject {
  return isChoiceRecord(item) ? messageOfChoice(item) : item;
}

function messageOfChoice({ message }: ChoiceRecord): JsonObject {
  const toolCalls = message["tool_calls"];
  const hasToolCalls = Array.isArray(toolCalls) && toolCalls.length > 0;
  return {
    role: "assistant",
    content: message["content"] ?? null,
    ...(hasToolCalls ? { tool_calls: toolCalls } : {}),
  };
}

/** A sequence while turns are still being added. */
interface Growing {
  readonly tokenIds: number[];
  readonly mask: number[];
  readonly logprobs: number[];
}

function joinTurns(turns: Iterable<Turn>, tokenizer: ConversationTokenizer): TokenSequence[] {
  const sequences: Growing[] = [];
  for (const turn of turns) {
    checkIds([...turn.promptTokenIds, ...turn.tokenIds], tokenizer.vocabularySize);
    let current = sequences.at(-1);
    if (current === undefined || !startsWith(turn.promptTokenIds, current.tokenIds)) {
      current = { tokenIds: [], mask: [], logprobs: [] };
      sequences.push(current);
    }
    append(current, turn.promptTokenIds.slice(current.tokenIds.length), null);
    append(current, turn.tokenIds, turn.logprobs);
  }
  return sequences.map(finished).filter((sequence) => sequence.mask.includes(1));
}

function checkIds(ids: readonly number[], vocabularySize: number): void {
  const wrong = ids.find((id) => id < 0 || id >= vocabularySize);
  if (wrong === undefined) return;
  throw contradiction(`it holds token id ${wrong}, and this model's ids end at ${vocabularySize - 1}`);
}

function startsWith(ids: readonly number[], beginning: readonly number[]): boolean {
  return ids.length >= beginning.length && beginning.every((id, index) => ids[index] === id);
}

function append(sequence: Growing, ids: readonly number[], logprobs: readonly number[] | null): void {
  ids.forEach((id, index) => {
    // Nothing predicts the first token of a sequence, so it cannot train.
    const trains = logprobs !== null && sequence.tokenIds.length > 0;
    sequence.tokenIds.push(id);
    sequence.mask.push(trains ? 1 : 0);
    sequence.logprobs.push(trains ? logprobs[index] : NaN);
  });
}

function finished(sequence: Growing): TokenSequence {
  return {
    tokenIds: Int32Array.from(sequence.tokenIds),
    mask: Uint8Array.from(sequence.mask),
    oldLogprobs: Float32Array.from(sequence.logprobs),
  };
}
