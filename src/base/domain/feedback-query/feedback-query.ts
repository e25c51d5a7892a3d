// Queries over a project's feedback, independent of the notation of the query and of the database.
import type { FeedbackRecord } from "../feedback.ts";
import type { Condition } from "./condition.ts";
import type { FeedbackField } from "./feedback-field.ts";

/**
 * Key by which records are sorted. In both directions, payload values that are numbers or texts of numbers come first,
 * then all other values, then records without a value. Only the order within these groups depends on the direction;
 * texts are compared by code points.
 */
export interface SortKey {
  readonly field: FeedbackField;
  readonly direction: "asc" | "desc";
}

export interface FeedbackQuery {
  readonly projectId: string;
  readonly condition: Condition;
  /** Keys by which records are sorted. Records with equal values for all keys stay in storage order, oldest first. */
  readonly sortBy: readonly SortKey[];
  readonly limit: number;
  /** Number of records to skip. */
  readonly offset: number;
  /**
   * Maximum total size in bytes of the returned records as stored; at least one record is returned. Defaults to the
   * limit of a page.
   */
  readonly bytesMax?: number;
}

export interface FeedbackResult {
  readonly items: readonly FeedbackRecord[];
  /** Number of records that match the condition. */
  readonly totalCount: number;
}

/**
 * Entity for which a query runs, and the time limit of the query. Entities take turns, so that one entity's queries do
 * not delay those of others.
 */
export interface QueryTurn {
  readonly entity: string;
  readonly timeMs: number;
}

/** Request for one page of the records that match a condition. */
export interface FeedbackScan {
  readonly projectId: string;
  readonly condition: Condition;
  /**
   * Order of the records; `stored` by default. With `changed`, records are in the order of their last change: a
   * replaced record moves to the end, so that a client can fetch only changes.
   */
  readonly order?: "stored" | "changed";
  /** Fraction of the records to read, which `isSampled` chooses. By default, all records are read. */
  readonly share?: number;
  /** Number of the record after which the page begins; null for the first page. */
  readonly after: number | null;
  readonly limit: number;
  /** Maximum total size in bytes of the returned records, as in {@link FeedbackQuery}. */
  readonly bytesMax?: number;
}

export interface FeedbackScanPage {
  readonly items: readonly FeedbackRecord[];
  /**
   * Value of `after` for the next page; null if no record was scanned. Only `hasMore` says whether another page
   * follows, because even an empty page may have a successor.
   */
  readonly last: number | null;
  readonly hasMore: boolean;
}

/** Request for counts by type: the number of records of each type that match a condition. */
export interface TypeQuestion extends Pick<FeedbackQuery, "projectId" | "condition"> {
  readonly typesMax: number;
}

export interface TypeCounts {
  /** Total number of matching records, of all types. */
  readonly totalCount: number;
  /** Types with their counts, ordered by descending count, then by name. Each name is spelled as in a query. */
  readonly types: readonly { readonly feedbackType: string; readonly count: number }[];
}
