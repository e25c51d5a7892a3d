// Converts a recorded trajectory to token sequences with old log-probabilities, and reports parts that cannot be
// trained on. A new sequence starts if a prompt does not begin with the sequence so far, for example after an edited
// message. Unknown tokens or a refused template exclude a history; a contradictory record fails the job.
import { asChoice, type History, type Trajectory } from "../../base/domain/trajectory.ts";
import { type ConversationTokenizer, promptArgumentsOf } from "./conversation-tokenizer.ts";
import {
  allTurns,
  assistantTurns,
  choiceTurns,
  type HistoryTurns,
  isAssistantMessage,
  type Turn,
  type Untrained,
} from "./history-turns.ts";

export interface TokenSequence {
  readonly tokenIds: Int32Array;
  /** For each token, 1 if it is trained on, otherwise 0; always 0 for the first token. */
  readonly mask: Uint8Array;
  /** Log-probabilities of the trained tokens under the sampling policy (NaN if unknown); NaN for all other tokens. */
  readonly oldLogprobs: Float32Array;
}

/** Returns the indices of the trained tokens, in order. */
export function trainedIndices({ mask }: Pick<TokenSequence, "mask">): readonly number[] {
  const indices: number[] = [];
  mask.forEach((trains, index) => {
    if (trains === 1) indices.push(index);
  });
  return indices;
}

/**
 * Copies the values of the trained tokens, given in order, to the positions of these tokens. All other positions are
 * NaN.
 */
export function atTrained(sequence: Pick<TokenSequence, "mask">, values: Float32Array): Float32Array {
  const placed = new Float32Array(sequence.mask.length).fill(NaN);
  trainedIndices(sequence).forEach((at, position) => (placed[at] = values[position]));
  return placed;
}

/** A token sequence, and the history from which it comes. */
export interface RecordedSequence {
  /** Token sequence with at least one trained token. */
  readonly sequence: TokenSequence;
  /**
   * Path, within the trajectory, of the history from which the sequence comes; empty for the trajectory's own history.
   */
  readonly location: readonly string[];
  /**
   * True if some turn of this sequence was recorded without the tokens of its prompt, so that Hone rendered the prompt
   * from messages.
   */
  readonly isRendered: boolean;
}

export interface TrajectorySequences {
  readonly sequences: readonly RecordedSequence[];
  /** Parts of the trajectory that are excluded from training. */
  readonly untrained: readonly Untrained[];
  /**
   * Paths of histories that became several sequences for no known reason. Histories with reasoning are omitted, because
   * templates are known to drop reasoning.
   */
  readonly split: readonly (readonly string[])[];
}

/**
 * Converts a trajectory with all its histories to sequences.
 *
 * @param trainsTexts if the trajectory has choices with tokens: true to train also on assistant messages and on choices
 * without tokens
 * @throws ServiceError `invalid`, with the path in the trajectory, if a record contradicts itself or has a token id
 * outside the vocabulary
 */
export function trajectorySequences(
  trajectory: Trajectory,
  tokenizer: ConversationTokenizer,
  { trainsTexts = false }: { readonly trainsTexts?: boolean } = {},
): TrajectorySequences {
  const histories: readonly History[] = [trajectory, ...trajectory.additionalHistories];
  const hasChoice = histories.some(holdsChoice);
  const promptArguments = promptArgumentsOf(trajectory.extra);
  const read = histories.map((history, index) => {
    const location = index === 0 ? [] : ["additional_histories", String(index - 1)];
    const context = { tokenizer, location, promptArguments };
    const { turns, untrained } = trainsTexts
      ? allTurns(history, context)
      : turnsOf(history, hasChoice, context);
    const joined = sequencesOfTurns(turns).map((sequence) => ({ ...sequence, location }));
    const sequences = joined.filter(({ sequence }) => sequence.mask.includes(1));
    const isCut = sequences.length < joined.length;
    const isSplit = sequences.length > 1 && !hasThoughts(history);
    const split = isSplit ? [location] : [];
    return { sequences, split, untrained: isCut ? [...untrained, onlyTokenFirst(location)] : untrained };
  });
  const sequences = read.flatMap((history) => history.sequences);
  const untrained = read.flatMap((history) => history.untrained);
  return {
    sequences,
    untrained: sequences.length > 0 ? untrained : [...untrained, ...nothing(untrained)],
    split: read.flatMap((history) => history.split),
  };
}

/** True if an answer in the history has reasoning, which templates omit from later prompts. */
function hasThoughts({ messagesAndChoices }: History): boolean {
  return messagesAndChoices.some((item) => {
    const { reasoning, reasoning_content: content } = asChoice(item)?.message ?? item;
    return typeof (reasoning ?? content ?? null) === "string";
  });
}

function holdsChoice({ messagesAndChoices }: History): boolean {
  return messagesAndChoices.some((item) => asChoice(item) !== null);
}

/** Returns the turns of a history to train on. Assistant messages are included only if the trajectory has no choice. */
function turnsOf(
  history: History,
  hasChoice: boolean,
  context: Parameters<typeof choiceTurns>[1],
): HistoryTurns {
  if (!hasChoice) return assistantTurns(history, context);
  const isLeftOut = !holdsChoice(history) && history.messagesAndChoices.some(isAssistantMessage);
  if (!isLeftOut) return choiceTurns(history, context);
  const detail =
    "Its assistant messages are no choices, and the trajectory has choices elsewhere. They train with allow_training_without_logprobs.";
  return {
    turns: [],
    untrained: [{ reason: "history_without_choice", location: context.location, detail }],
  };
}

function onlyTokenFirst(location: readonly string[]): Untrained {
  const detail = "Its only token is the first of its sequence, which nothing predicts.";
  return { reason: "no_trainable_tokens", location, detail };
}

/** Reports that the whole trajectory is excluded, unless reasons for its histories were already reported. */
function nothing(untrained: readonly Untrained[]): readonly Untrained[] {
  const isSaid = untrained.some(({ reason }) =>
    ["unreadable_tokens", "unrenderable", "no_trainable_tokens"].includes(reason),
  );
  const detail = "It holds neither a choice with tokens nor an assistant message with text.";
  return isSaid ? [] : [{ reason: "no_trainable_tokens", location: [], detail }];
}

/**
 * Joins the turns of one history to sequences. A turn continues the sequence if its prompt begins with all tokens of
 * the sequence; otherwise it starts a new one.
 */
export function sequencesOfTurns(turns: readonly Turn[]): readonly Omit<RecordedSequence, "location">[] {
  return joinTurns(turns).map(finished);
}

/** A sequence to which turns are still being added. */
interface Growing {
  readonly tokenIds: number[];
  readonly mask: number[];
  readonly logprobs: number[];
  isRendered: boolean;
}

function joinTurns(turns: readonly Turn[]): readonly Growing[] {
  const sequences: Growing[] = [];
  for (const turn of turns) {
    let current = sequences.at(-1);
    if (current === undefined || !startsWith(turn.promptTokenIds, current.tokenIds)) {
      current = { tokenIds: [], mask: [], logprobs: [], isRendered: false };
      sequences.push(current);
    }
    append(current, turn.promptTokenIds.slice(current.tokenIds.length), null);
    append(current, turn.tokenIds, turn.logprobs);
    current.isRendered ||= turn.isRendered;
  }
  return sequences;
}

function startsWith(ids: readonly number[], beginning: readonly number[]): boolean {
  return ids.length >= beginning.length && beginning.every((id, index) => ids[index] === id);
}

function append(sequence: Growing, ids: readonly number[], logprobs: readonly number[] | null): void {
  ids.forEach((id, index) => {
    // The first token of a sequence cannot be trained on, because no earlier position predicts it.
    const trains = logprobs !== null && sequence.tokenIds.length > 0;
    sequence.tokenIds.push(id);
    sequence.mask.push(trains ? 1 : 0);
    sequence.logprobs.push(trains ? logprobs[index] : NaN);
  });
}

function finished({ tokenIds, mask, logprobs, isRendered }: Growing): Omit<RecordedSequence, "location"> {
  return {
    sequence: {
      tokenIds: Int32Array.from(tokenIds),
      mask: Uint8Array.from(mask),
      oldLogprobs: Float32Array.from(logprobs),
    },
    isRendered,
  };
}
