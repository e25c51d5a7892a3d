// Reads the recorded calls of a rollout, and links their answers to sequences. Leaves out answers that the client never
// received.
import {
  anyCompletion,
  type CompletionStore,
  type ListedCompletion,
  type StoredCompletion,
} from "../../base/domain/recordings/completion-store.ts";
import type { RecordedChoice } from "../../base/domain/recordings/recorded-completion.ts";
import { linkCalls, type LinkedAnswer, type LinkedSequence } from "./link-calls.ts";
import { type ComparedCall, replacedCalls } from "./replaced-calls.ts";

/** One choice of a recorded call. */
export interface RolloutAnswer extends LinkedAnswer {
  readonly call: StoredCompletion;
  readonly choice: RecordedChoice;
  readonly choiceIndex: number;
}

/** A recorded call of a rollout. */
export interface RolloutCall extends ListedCompletion {
  /** Request id of the call that repeats this one, because the client did not receive the answer; otherwise null. */
  readonly replacedBy: string | null;
}

export interface LinkedRollout {
  /** All calls, in the order in which they were recorded. */
  readonly calls: readonly RolloutCall[];
  /** Answers of the calls whose content was recorded, and whose client received the answer. */
  readonly answers: readonly RolloutAnswer[];
  readonly sequences: readonly LinkedSequence[];
}

const pageMax = 100;

/** Reads the calls of a rollout with all their tokens, and keeps them in memory. */
export async function readRollout(
  completions: Pick<CompletionStore, "list" | "find">,
  rolloutId: string,
): Promise<LinkedRollout> {
  const listed: ListedCompletion[] = [];
  for (let after: number | null = null, hasMore = true; hasMore;) {
    const page = await completions.list(
      { ...anyCompletion, rolloutId },
      { after, limit: pageMax, order: "asc" },
    );
    listed.push(...page.items);
    ({ hasMore } = page);
    after = page.last;
  }
  const read: ReadCall[] = [];
  // Sorts the calls by start time, because a call can continue only answers that existed when it started.
  for (const each of listed.toSorted((one, other) => one.startedAt.getTime() - other.startedAt.getTime()))
    read.push(readCall(each, await completions.find(each)));
  const replaced = replacedCalls(read);
  const replacedBy = new Map([...replaced].map(([one, by]) => [one.requestId, by.requestId]));
  const calls = listed.map((call) => ({ ...call, replacedBy: replacedBy.get(call.requestId) ?? null }));
  const received = read.filter((call) => !call.isUndelivered && !replaced.has(call));
  const answers = received.flatMap((call) => call.answers);
  return { calls, answers, sequences: linkCalls(answers) };
}

/** True if no job trains on a call, because the client did not receive its answer. */
export function isLeftOut({ replacedBy, isUndelivered = false }: RolloutCall): boolean {
  return replacedBy !== null || isUndelivered;
}

interface ReadCall extends ComparedCall {
  readonly requestId: string;
  readonly answers: readonly RolloutAnswer[];
}

/** @param call the call with its content; null if it was deleted meanwhile */
function readCall(
  { requestId, attempt, isUndelivered = false }: ListedCompletion,
  call: StoredCompletion | null,
): ReadCall {
  const content = call?.content ?? null;
  const answers =
    call === null || content === null
      ? []
      : content.choices.map((choice, choiceIndex): RolloutAnswer => {
          const { promptTokenIds } = content;
          return { call, choice, choiceIndex, promptTokenIds, tokenIds: choice.tokenIds };
        });
  return { requestId, attempt: attempt ?? null, isUndelivered, answers };
}
