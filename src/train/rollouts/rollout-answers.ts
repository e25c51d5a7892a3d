// Reads the recorded calls of a rollout, and links their answers to sequences.
import {
  anyCompletion,
  type CompletionStore,
  type ListedCompletion,
  type StoredCompletion,
} from "../../base/domain/recordings/completion-store.ts";
import type { RecordedChoice } from "../../base/domain/recordings/recorded-completion.ts";
import { linkCalls, type LinkedAnswer, type LinkedSequence } from "./link-calls.ts";

/** One choice of a recorded call. */
export interface RolloutAnswer extends LinkedAnswer {
  readonly call: StoredCompletion;
  readonly choice: RecordedChoice;
  readonly choiceIndex: number;
}

export interface LinkedRollout {
  /** All calls, in the order in which they were recorded. */
  readonly calls: readonly ListedCompletion[];
  /** Answers of the calls whose content was recorded. */
  readonly answers: readonly RolloutAnswer[];
  readonly sequences: readonly LinkedSequence[];
}

const pageMax = 100;

/** Reads the calls of a rollout with all their tokens, and keeps them in memory. */
export async function readRollout(
  completions: Pick<CompletionStore, "list" | "find">,
  rolloutId: string,
): Promise<LinkedRollout> {
  const calls: ListedCompletion[] = [];
  for (let after: number | null = null, hasMore = true; hasMore;) {
    const page = await completions.list(
      { ...anyCompletion, rolloutId },
      { after, limit: pageMax, order: "asc" },
    );
    calls.push(...page.items);
    ({ hasMore } = page);
    after = page.last;
  }
  const answers: RolloutAnswer[] = [];
  // Sorts the calls by start time, because a call can continue only answers that existed when it started.
  for (const listed of calls.toSorted((one, other) => one.startedAt.getTime() - other.startedAt.getTime())) {
    const call = await completions.find(listed);
    const { content = null } = call ?? {};
    if (call === null || content === null) continue;
    const { promptTokenIds } = content;
    for (const [choiceIndex, choice] of content.choices.entries())
      answers.push({ call, choice, choiceIndex, promptTokenIds, tokenIds: choice.tokenIds });
  }
  return { calls, answers, sequences: linkCalls(answers) };
}
