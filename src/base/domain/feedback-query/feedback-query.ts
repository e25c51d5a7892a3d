// Queries over a project's feedback, independent of their syntax and of the database.
import type { FeedbackRecord } from "../feedback.ts";
import type { Condition } from "./condition.ts";
import type { FeedbackField } from "./feedback-field.ts";

/**
 * Sort key. Records with a value come first in either direction. Values of the payload are ordered as numbers first,
 * including texts that spell numbers, and then by their texts in code point order.
 */
export interface SortKey {
  readonly field: FeedbackField;
  readonly direction: "asc" | "desc";
}

export interface FeedbackQuery {
  readonly projectId: string;
  readonly condition: Condition;
  /** Ties are broken by storage order, oldest first. */
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

/** The asking entity and its deadline. Queries of one entity do not delay those of others. */
export interface QueryTurn {
  readonly entity: string;
  readonly timeMs: number;
}

/** Request for a page of matching records. */
export interface FeedbackScan {
  readonly projectId: string;
  readonly condition: Condition;
  /**
   * Storage order by default. `changed` orders by the last change, so a replaced record comes last again and a client
   * can fetch only changes.
   */
  readonly order?: "stored" | "changed";
  /** Share of the records to read, see `isSampled`; all by default. */
  readonly share?: number;
  /** Number of the record after which to continue; null for the first page. */
  readonly after: number | null;
  readonly limit: number;
  /** As in a query. */
  readonly bytesMax?: number;
}

export interface FeedbackScanPage {
  readonly items: readonly FeedbackRecord[];
  /**
   * Value of `after` for the next page; null if no record was read. A page may be empty although more follow, so
   * `hasMore` decides.
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
  /** Types by descending count, then by name; as queries see the names. */
  readonly types: readonly { readonly feedbackType: string; readonly count: number }[];
}
