// Contract of the store of recorded completions.
import type { FeedbackRecord } from "../feedback.ts";
import type { NumberedPage, NumberedPageRequest } from "../page.ts";
import type { CompletionKey } from "./completion-key.ts";
import type { CompletionContent, CompletionOutline, RecordedCompletion } from "./recorded-completion.ts";

/** Filter of recorded completions; null fields match all. */
export interface CompletionFilter {
  readonly entity: string | null;
  readonly projectId: string | null;
  readonly modelId: string | null;
  readonly step: number | null;
  readonly requestId: string | null;
  /** Earliest time at which the completion ended, inclusive. */
  readonly endedFrom: Date | null;
  /** Latest time at which the completion ended, exclusive. */
  readonly endedBefore: Date | null;
  readonly feedback: FeedbackWish | null;
}

/**
 * Filter by feedback, in the completion's project, on the completion or one of its choices: any feedback, no feedback,
 * or feedback of one type.
 */
export type FeedbackWish =
  | { readonly kind: "any" | "none" }
  | { readonly kind: "type"; readonly type: string };

/** A feedback record on a completion, or on one of its choices. */
export type CallFeedback = Pick<
  FeedbackRecord,
  "id" | "feedbackType" | "vendorRef" | "vendorUserId" | "createdAt"
>;

/** A summary as listed. */
export interface ListedCompletion extends CompletionOutline {
  /** Number in storage order. Each newly stored completion gets a higher number. */
  readonly number: number;
  /** Size in bytes of the data that only this completion uses, without content that it shares with others. */
  readonly byteCount: number;
  /** False if the content was not stored because it exceeds the limit. */
  readonly isWhole: boolean;
}

export interface StoredCompletion extends ListedCompletion {
  readonly content: CompletionContent | null;
}

export interface CompletionStore {
  /**
   * Stores completions in one transaction, in order. Each replaces an existing completion with the same key;
   * completions whose model was deleted meanwhile are left out.
   *
   * @returns the number of stored completions
   */
  add(completions: readonly RecordedCompletion[]): Promise<number>;
  find(key: CompletionKey): Promise<StoredCompletion | null>;
  /**
   * Returns the summaries of existing completions among these keys, in any order.
   *
   * @param keys at most 100
   */
  findOutlines(keys: readonly CompletionKey[]): Promise<readonly ListedCompletion[]>;
  /** Returns completions in storage order. */
  list(filter: CompletionFilter, page: NumberedPageRequest): Promise<NumberedPage<ListedCompletion>>;
  /**
   * Returns feedback on a call in its project, oldest first, at most `limit` records. The completion itself need not
   * be recorded.
   */
  feedbackOn(key: CompletionKey, limit: number): Promise<readonly CallFeedback[]>;
  /** Deletes a completion. Returns false if it does not exist. */
  delete(key: CompletionKey): Promise<boolean>;
  /** Deletes all completions of a model, in small batches. */
  deleteOfModel(modelId: string): Promise<void>;
}
