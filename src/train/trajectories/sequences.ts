// Converts a recorded trajectory to token sequences with the old log-probabilities, and reports the parts that cannot
// be trained on. A history is one sequence as long as every prompt begins with the sequence so far; otherwise (a
// dropped thought, an edited message), a new sequence starts. A history with unknown tokens, or one that the template
// refuses, is excluded; a contradictory record or an id outside the vocabulary fails the job, because the data belongs
// to another model.
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
  /** 1 if the token is trained on, otherwise 0; always 0 for the first token. */
  readonly mask: Uint8Array;
  /** Sampling policy's log-probabilities of the trained tokens (NaN if unknown); NaN for all other tokens. */
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

/** Copies the trained tokens' values, given in order, to the tokens' positions; all other positions are NaN. */
export function atTrained(sequence: Pick<TokenSequence, "mask">, values: Float32Array): Float32Array {
  const placed = new Float32Array(sequence.mask.length).fill(NaN);
  trainedIndices(sequence).forEach((at, position) => (placed[at] = values[position]));
  return placed;
}

/** A sequence and its origin. */
export interface RecordedSequence {
  /** Token sequence with at least one trained token. */
  readonly sequence: TokenSequence;
  /** Path of the sequence's history within the trajectory; empty for the trajectory's own history. */
  readonly location: readonly string[];
  /** True if at least one prompt in the sequence was rendered because its record contains no prompt tokens. */
  readonly isRendered: boolean;
}

export interface TrajectorySequences {
  readonly sequences: readonly RecordedSequence[];
  /** Parts of the trajectory that are excluded from training. */
  readonly untrained: readonly Untrained[];
  /**
   * Paths of histories that were split into several sequences without a known reason. A template that drops thoughts
   * is a known reason, so histories with thoughts are not included.
   */
  readonly split: readonly (readonly string[])[];
}

/**
 * Converts a trajectory with all its histories to sequences.
 *
 * @param trainsTexts true if the texts of assistant messages, and of Choices without tokens, are also trained on in a
 * trajectory that has Choices with tokens
 * @throws ServiceError `invalid` if a record contradicts itself or has a token id outside the vocabulary; its fault
 * names the path in the trajectory
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

/** True if an answer has thoughts, which templates omit from later prompts. */
function hasThoughts({ messagesAndChoices }: History): boolean {
  return messagesAndChoices.some((item) => {
    const { reasoning, reasoning_content: content } = asChoice(item)?.message ?? item;
    return typeof (reasoning ?? content ?? null) === "string";
  });
}

function holdsChoice({ messagesAndChoices }: History): boolean {
  return messagesAndChoices.some((item) => asChoice(item) !== null);
}

/** Returns the turns to train on. Assistant messages count only if the trajectory has no Choice. */
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

/** Adds a report that the whole trajectory is excluded, unless reasons for its histories were already reported. */
function nothing(untrained: readonly Untrained[]): readonly Untrained[] {
  const isSaid = untrained.some(({ reason }) =>
    ["unreadable_tokens", "unrenderable", "no_trainable_tokens"].includes(reason),
  );
  const detail = "It holds neither a choice with tokens nor an assistant message with text.";
  return isSaid ? [] : [{ reason: "no_trainable_tokens", location: [], detail }];
}

/**
 * Joins the turns of one history to sequences. A sequence continues as long as each prompt begins with the sequence so
 * far.
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
    // The first token of a sequence cannot be trained on, since no earlier position predicts it.
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
