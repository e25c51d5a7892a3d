// Questions about a project's feedback, free of how they are written and of how they are answered.
import type { FeedbackRecord } from "../feedback.ts";
import type { Condition } from "./condition.ts";
import type { FeedbackField } from "./feedback-field.ts";

/**
 * Records that have the value come first, whatever the direction. Of a value of the payload numbers, and texts that are
 * written as one, come next, in their order, and then all others by their texts; texts go by code points.
 */
export interface SortKey {
  readonly field: FeedbackField;
  readonly direction: "asc" | "desc";
}

export interface FeedbackQuery {
  readonly projectId: string;
  readonly condition: Condition;
  /** Records that are equal by all keys come in the order in which they were stored, the oldest first. */
  readonly sortBy: readonly SortKey[];
  readonly limit: number;
  /** How many are passed over. */
  readonly offset: number;
  /** Most bytes of records, as stored; at least one comes, if there is any. A page's bound unless given. */
  readonly bytesMax?: number;
}

export interface FeedbackResult {
  readonly items: readonly FeedbackRecord[];
  /** Of those that the condition holds for. */
  readonly totalCount: number;
}

/** Who asks, and how long the answer may take: what one entity asks holds up no other. */
export interface QueryTurn {
  readonly entity: string;
  readonly timeMs: number;
}

/** A page of the records that a condition holds for. */
export interface FeedbackScan {
  readonly projectId: string;
  readonly condition: Condition;
  /**
   * In the order in which they were stored, unless given; or in that of what they say now, where one that is replaced comes
   * last again, for who comes back for what changed.
   */
  readonly order?: "stored" | "changed";
  /** How large a part of the records is looked at: see `isSampled`. All unless given. */
  readonly share?: number;
  /** The number to go on behind; null for the first page. */
  readonly after: number | null;
  readonly limit: number;
  /** As a query has it. */
  readonly bytesMax?: number;
}

export interface FeedbackScanPage {
  readonly items: readonly FeedbackRecord[];
  /**
   * What `after` takes for the next page; null where nothing was looked at. Many may have been looked at and few found: a
   * page without items is not the end while `hasMore` holds.
   */
  readonly last: number | null;
  readonly hasMore: boolean;
}

/** Which records are counted by their types. */
export interface TypeQuestion extends Pick<FeedbackQuery, "projectId" | "condition"> {
  readonly typesMax: number;
}

export interface TypeCounts {
  /** Of all types. */
  readonly totalCount: number;
  /** The most frequent first, and those that are as frequent by their names; as queries see these. */
  readonly types: readonly { readonly feedbackType: string; readonly count: number }[];
}
