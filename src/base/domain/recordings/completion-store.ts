// Contract of the store for recorded completions.
import type { QueryTurn } from "../feedback-query/feedback-query.ts";
import type { FeedbackRecord } from "../feedback.ts";
import type { NumberedPage, NumberedPageRequest } from "../page.ts";
import type { CompletionKey } from "./completion-key.ts";
import type { CompletionContent, CompletionOutline, RecordedCompletion } from "./recorded-completion.ts";

/** Filter of recorded completions. Fields that are null match all completions. */
export interface CompletionFilter {
  readonly entity: string | null;
  readonly projectId: string | null;
  readonly modelId: string | null;
  readonly step: number | null;
  readonly requestId: string | null;
  /** Includes completions that ended at this time or later. */
  readonly endedFrom: Date | null;
  /** Includes completions that ended before this time. */
  readonly endedBefore: Date | null;
  readonly feedback: FeedbackWish | null;
  /** Rollout to which the completions belong; absent or null for all. */
  readonly rolloutId?: string | null;
}

/** Filter that matches all completions. */
export const anyCompletion: CompletionFilter = {
  entity: null,
  projectId: null,
  modelId: null,
  step: null,
  requestId: null,
  endedFrom: null,
  endedBefore: null,
  feedback: null,
};

/**
 * Filters completions by the feedback that their project has on them or on their choices: any feedback, none, or
 * feedback of one type.
 */
export type FeedbackWish =
  | { readonly kind: "any" | "none" }
  | { readonly kind: "type"; readonly type: string };

/** A feedback record on a completion, or on one of its choices. */
export type CallFeedback = Pick<
  FeedbackRecord,
  "id" | "feedbackType" | "vendorRef" | "vendorUserId" | "createdAt"
>;

/** Summary of a recorded completion, for lists. */
export interface ListedCompletion extends CompletionOutline {
  /** Number of the completion in storage order. A completion that is stored later has a higher number. */
  readonly number: number;
  /**
   * Size in bytes of the data that only this completion uses. Content that it shares with other completions does not
   * count.
   */
  readonly byteCount: number;
  /** False if the completion's content was too large to be stored. */
  readonly isWhole: boolean;
}

export interface StoredCompletion extends ListedCompletion {
  readonly content: CompletionContent | null;
}

export interface CompletionStore {
  /**
   * Stores completions in one transaction, in order, unless their model was deleted meanwhile. Each replaces a stored
   * completion with the same key. A completion whose rollout has ended is stored without its rollout.
   *
   * @returns the number of stored completions
   */
  add(completions: readonly RecordedCompletion[]): Promise<number>;
  find(key: CompletionKey): Promise<StoredCompletion | null>;
  /**
   * Returns the summaries of the completions with these keys that exist, in any order.
   *
   * @param keys at most 100
   */
  findOutlines(keys: readonly CompletionKey[]): Promise<readonly ListedCompletion[]>;
  /** Returns completions that match the filter, in storage order. */
  list(filter: CompletionFilter, page: NumberedPageRequest): Promise<NumberedPage<ListedCompletion>>;
  /**
   * Returns the numbers of those completions whose messages and answers may contain the words. None that contains all
   * of them is missing, but others may be included, so callers read the completions.
   *
   * @param completions up to 250 completions from `list`
   * @param words words in lower case, at least one
   * @throws ServiceError `too_slow`, `overloaded`
   */
  findWords(
    completions: readonly ListedCompletion[],
    words: readonly string[],
    turn: QueryTurn,
  ): Promise<ReadonlySet<number>>;
  /**
   * Returns up to `limit` feedback records on a call, oldest first, from the call's own project. The completion itself
   * need not be recorded.
   */
  feedbackOn(key: CompletionKey, limit: number): Promise<readonly CallFeedback[]>;
  /** Sets `isUndelivered`. Does nothing if there is no completion with this key. */
  markUndelivered(key: CompletionKey): Promise<void>;
  /** Deletes a recorded completion. Returns false if there is none with this key. */
  delete(key: CompletionKey): Promise<boolean>;
  /** Deletes all recorded completions of a model, in small batches. */
  deleteOfModel(modelId: string): Promise<void>;
}
