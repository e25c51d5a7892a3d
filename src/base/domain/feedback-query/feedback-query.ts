// Queries over a project's feedback, independent of their syntax and of the database.
import type { FeedbackRecord } from "../feedback.ts";
import type { Condition } from "./condition.ts";
import type { FeedbackField } from "./feedback-field.ts";

/**
 * Sort key. In both directions, records with a value come before records without one. For payload values, numbers
 * (including texts that represent numbers) come first, then all other values by their texts in code point order.
 */
export interface SortKey {
  readonly field: FeedbackField;
  readonly direction: "asc" | "desc";
}

export interface FeedbackQuery {
  readonly projectId: string;
  readonly condition: Condition;
  /** Sort keys. Records that are equal under all keys are in storage order, oldest first. */
  readonly sortBy: readonly SortKey[];
  readonly limit: number;
  /** Number of records to skip. */
  readonly offset: number;
  /**
   * Maximum total size of the returned records as stored, in bytes; at least one record is returned. Defaults to the
   * bound of a page.
   */
  readonly bytesMax?: number;
}

export interface FeedbackResult {
  readonly items: readonly FeedbackRecord[];
  /** Number of records that match the condition. */
  readonly totalCount: number;
}

/**
 * The entity that makes a query, and the query's deadline. Entities take turns, so that one entity's queries do not
 * delay those of others.
 */
export interface QueryTurn {
  readonly entity: string;
  readonly timeMs: number;
}

/** Request for a page of matching records. */
export interface FeedbackScan {
  readonly projectId: string;
  readonly condition: Condition;
  /**
   * Order of the scan; `stored` by default. With `changed`, records are ordered by their last change: a replaced
   * record moves to the end, so that a client can fetch only what changed.
   */
  readonly order?: "stored" | "changed";
  /** Share of the records to read, chosen by `isSampled`; all records by default. */
  readonly share?: number;
  /** Number of the record after which to continue; null for the first page. */
  readonly after: number | null;
  readonly limit: number;
  /** Maximum total size of the returned records, as in {@link FeedbackQuery}. */
  readonly bytesMax?: number;
}

export interface FeedbackScanPage {
  readonly items: readonly FeedbackRecord[];
  /**
   * Value of `after` for the next page; null if no record was scanned. Use `hasMore` to see if more pages follow,
   * because a page may be empty although more follow.
   */
  readonly last: number | null;
  readonly hasMore: boolean;
}

/** Condition on the records to count by type. */
export interface TypeQuestion extends Pick<FeedbackQuery, "projectId" | "condition"> {
  readonly typesMax: number;
}

export interface TypeCounts {
  /** Total of all types. */
  readonly totalCount: number;
  /** Types by descending count, then by name, with the names in the form that queries use. */
  readonly types: readonly { readonly feedbackType: string; readonly count: number }[];
}
