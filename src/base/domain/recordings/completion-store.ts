// Where recorded completions are kept.
import type { FeedbackRecord } from "../feedback.ts";
import type { NumberedPage, NumberedPageRequest } from "../page.ts";
import type { CompletionKey } from "./completion-key.ts";
import type { CompletionContent, CompletionOutline, RecordedCompletion } from "./recorded-completion.ts";

/** Which recorded completions; what is null lets all through. */
export interface CompletionFilter {
  readonly entity: string | null;
  readonly projectId: string | null;
  readonly modelId: string | null;
  readonly step: number | null;
  readonly requestId: string | null;
  /** Ended then or later. */
  readonly endedFrom: Date | null;
  /** Ended before. */
  readonly endedBefore: Date | null;
  readonly feedback: FeedbackWish | null;
}

/** Whether there is feedback on a completion or one of its choices, in its project: any, none, or of a type. */
export type FeedbackWish =
  | { readonly kind: "any" | "none" }
  | { readonly kind: "type"; readonly type: string };

/** A record on a completion, or on one of its choices. */
export type CallFeedback = Pick<
  FeedbackRecord,
  "id" | "feedbackType" | "vendorRef" | "vendorUserId" | "createdAt"
>;

/** An outline as it is listed. */
export interface ListedCompletion extends CompletionOutline {
  /** Its place among all: greater than that of every one that was stored before. */
  readonly number: number;
  /** Of what is stored of it alone, without what it shares with others. */
  readonly byteCount: number;
  /** Whether its content was stored, which one of more bytes than the limit lacks. */
  readonly isWhole: boolean;
}

export interface StoredCompletion extends ListedCompletion {
  readonly content: CompletionContent | null;
}

export interface CompletionStore {
  /**
   * Stores them in one transaction, in order; each takes the place of the one of its key. Those whose model is gone are
   * left out: it was deleted while they were answered.
   *
   * @returns how many were stored
   */
  add(completions: readonly RecordedCompletion[]): Promise<number>;
  find(key: CompletionKey): Promise<StoredCompletion | null>;
  /**
   * What lists say of those that are there, in any order.
   *
   * @param keys at most 100
   */
  findOutlines(keys: readonly CompletionKey[]): Promise<readonly ListedCompletion[]>;
  /** In the order they were stored. */
  list(filter: CompletionFilter, page: NumberedPageRequest): Promise<NumberedPage<ListedCompletion>>;
  /** What its project says of a completion, recorded or not: the oldest first, at most `limit`. */
  feedbackOn(key: CompletionKey, limit: number): Promise<readonly CallFeedback[]>;
  /** False when there is none. */
  delete(key: CompletionKey): Promise<boolean>;
  /** Deletes all of a model, a few at a time. */
  deleteOfModel(modelId: string): Promise<void>;
}
