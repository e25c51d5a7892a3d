// From a recorded trajectory to token sequences that can train: which tokens, which of them are the model's own,
// and what their log-probabilities were; and what of it cannot train, and why. Knows nothing of rewards.
//
// A history becomes one sequence as long as every prompt begins with the sequence so far; where it does not
// (the template dropped an earlier thought, the client edited a message), a new sequence starts, so that every
// trained token stands behind exactly the prompt it answered.
//
// What is wrong with a trajectory: tokens that cannot be identified and conversations that the template refuses
// drop their history with a reason; records that contradict themselves, or that hold ids this model does not have, fail
// the job, since they mean that the data belongs to another model.
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

/** Values of the tokens that train, in their order, each at its token's place; NaN at all others. */
export function atTrained(sequence: Pick<TokenSequence, "mask">, values: Float32Array): Float32Array {
  const placed = new Float32Array(sequence.mask.length).fill(NaN);
  trainedIndices(sequence).forEach((at, position) => (placed[at] = values[position]));
  return placed;
}

/** A sequence and where it comes from. */
export interface RecordedSequence {
  /** Has at least one token that trains. */
  readonly sequence: TokenSequence;
  /** Of its history, within the trajectory; empty for the trajectory's own. */
  readonly location: readonly string[];
  /** Whether a prompt in it was rendered, since its record has none. */
  readonly isRendered: boolean;
}

export interface TrajectorySequences {
  readonly sequences: readonly RecordedSequence[];
  /** What of the trajectory does not train. */
  readonly untrained: readonly Untrained[];
  /**
   * Places of the histories that became several sequences for no reason that they show: no thought in them that a template
   * may have dropped.
   */
  readonly split: readonly (readonly string[])[];
}

/**
 * Turns a trajectory with all its histories into sequences.
 *
 * @param trainsTexts whether assistant messages, and Choices without tokens, train by their text beside Choices with tokens
 * @throws ServiceError `invalid` when a record contradicts itself or holds an id outside the vocabulary; its fault says
 *   where in the trajectory
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

/** True if the model thought in an answer, which templates leave out of later prompts. */
function hasThoughts({ messagesAndChoices }: History): boolean {
  return messagesAndChoices.some((item) => {
    const { reasoning, reasoning_content: content } = asChoice(item)?.message ?? item;
    return typeof (reasoning ?? content ?? null) === "string";
  });
}

function holdsChoice({ messagesAndChoices }: History): boolean {
  return messagesAndChoices.some((item) => asChoice(item) !== null);
}

/** Assistant messages train where a trajectory holds no Choice at all. */
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

/** Why nothing of a trajectory trains, unless its histories say that of themselves. */
function nothing(untrained: readonly Untrained[]): readonly Untrained[] {
  const isSaid = untrained.some(({ reason }) =>
    ["unreadable_tokens", "unrenderable", "no_trainable_tokens"].includes(reason),
  );
  const detail = "It holds neither a choice with tokens nor an assistant message with text.";
  return isSaid ? [] : [{ reason: "no_trainable_tokens", location: [], detail }];
}

/** Joins the turns of one history: a sequence goes on as long as every prompt begins with it. */
export function sequencesOfTurns(turns: readonly Turn[]): readonly Omit<RecordedSequence, "location">[] {
  return joinTurns(turns).map(finished);
}

/** A sequence while turns are still being added. */
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
    // Nothing predicts the first token of a sequence, so it cannot train.
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
