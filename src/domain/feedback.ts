// Feedback records: what people and programs said of an object, an op or a call.
import type { FeedbackQuery, FeedbackResult, QueryTurn } from "./feedback-query/feedback-query.ts";
import type { Page, PageRequest } from "./page.ts";
import type { JsonObject } from "./trajectory.ts";

/** The content of a record, as a caller gives it; unset references are null. */
export interface FeedbackContent {
  readonly projectId: string;
  /** What the feedback is on: an object, an op or a call. */
  readonly vendorRef: string;
  readonly feedbackType: string;
  readonly payload: JsonObject;
  readonly creator: string | null;
  readonly annotationRef: string | null;
  readonly runnableRef: string | null;
  readonly callRef: string | null;
  readonly triggerRef: string | null;
  readonly queueId: string | null;
}

export interface FeedbackRecord extends FeedbackContent {
  readonly id: string;
  /** UTC, milliseconds. */
  readonly createdAt: Date;
  /** The owner of the key that wrote it. */
  readonly vendorUserId: string;
  /** Hex SHA-256 of the content as sent: what distinguishes a retry from a conflict. */
  readonly contentHash: string;
}

export interface FeedbackRevision {
  /** Unique among the revisions of its record: the page cursor. */
  readonly id: string;
  readonly replacedAt: Date;
  readonly record: FeedbackRecord;
}

export interface FeedbackStore {
  /**
   * Writes all or nothing, in one transaction, and returns the records in order. A record whose id exists in its project
   * with the same content hash is returned as stored and not written again, and so is what it was created as, though it
   * was replaced since: a client that tries again late is answered as the first time. With another hash the whole call
   * throws `conflict` and names every such index in its faults (location `<index>, id`). The same id twice in one call
   * follows the same rule.
   */
  create(records: readonly FeedbackRecord[]): Promise<readonly FeedbackRecord[]>;
  find(projectId: string, id: string): Promise<FeedbackRecord | null>;
  /**
   * Replaces the content, keeps `id` and `createdAt`, and puts what was replaced in the history; atomic.
   * Null, and nothing written, when the project has no such record.
   */
  replace(
    projectId: string,
    id: string,
    content: Omit<FeedbackRecord, "id" | "createdAt">,
    at: Date,
  ): Promise<FeedbackRecord | null>;
  /**
   * The records that a query is about, sorted, a slice of them; bounded in bytes too, as a page is.
   *
   * @throws ServiceError `too_slow` when it takes longer than its turn has, `overloaded` when its turn does not come
   */
  query(query: FeedbackQuery, turn: QueryTurn): Promise<FeedbackResult>;
  /** Removes records with their histories, at once; ids that the project does not have are passed over. */
  delete(projectId: string, ids: readonly string[]): Promise<void>;
  /** In the order they were replaced. */
  history(projectId: string, id: string, page: PageRequest): Promise<Page<FeedbackRevision>>;
}
