// Feedback records: judgements by people and programs on an object, an op or a traced call.
import type { JsonObject } from "./text/json.ts";

/** Content of a record as the client sent it. If the client did not send a reference, it is null. */
export interface FeedbackContent {
  readonly projectId: string;
  /** Reference to the object, op or call that the feedback judges. */
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
  /** Time of creation in UTC, with millisecond precision. */
  readonly createdAt: Date;
  /** Owner of the key that wrote the record. */
  readonly vendorUserId: string;
  /** SHA-256 of the content as sent, in hexadecimal form. It distinguishes a retry from a conflict. */
  readonly contentHash: string;
}

export interface FeedbackRevision {
  /** Id of the revision. It is unique among the record's revisions and serves as cursor of a page. */
  readonly id: string;
  readonly replacedAt: Date;
  readonly record: FeedbackRecord;
}
