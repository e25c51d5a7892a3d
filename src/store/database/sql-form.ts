// SQL that each database writes differently: reading JSON in texts, reading numbers in texts, and sorting texts. This
// interface defines the results; each database has an implementation (`sqlite/sqlite-form`).
import type { RawBuilder } from "kysely";
import type { FeedbackPack, PackForm } from "../../base/domain/feedback-query/feedback-batch.ts";
import type { PathStep } from "../../base/domain/feedback-query/feedback-field.ts";

/** A text, or a JSON value as text; null if missing. */
export type SqlText = RawBuilder<string | null>;
export type SqlNumber = RawBuilder<number | null>;

export interface SqlForm {
  /**
   * Returns the JSON at a path in a JSON text; null if missing. Indices refer to list items, and names to object
   * members.
   */
  jsonAt(json: SqlText, path: readonly PathStep[]): SqlText;
  /** Returns the text of a JSON value: the content of a string, otherwise the JSON; null for null or a missing value. */
  textOfJson(json: SqlText): SqlText;
  /** Returns the number that a text represents, by the rules of `numberOfText`; null if it is not a number. */
  numberOfText(text: SqlText): SqlNumber;
  /** Returns the number in a JSON number or JSON string; null if it is not a number. */
  numberOfJson(json: SqlText): SqlNumber;
  /** Returns the number of items in a JSON list; null for any other value. */
  itemCount(json: SqlText): SqlNumber;
  /** Returns a number truncated to an integer. */
  whole(number: SqlNumber): SqlNumber;
  /** Returns the 1-based position of `part` in `text`; 0 if absent, 1 for an empty part. */
  position(text: SqlText, part: SqlText): RawBuilder<number>;
  /** Returns the text with the letters A to Z in lower case. */
  lower(text: SqlText): SqlText;
  /** Returns a text that compares and sorts by code points. */
  ordered(text: SqlText): SqlText;
  /** Packing of feedback batches that the database reads fastest. */
  readonly packForm: PackForm;
  /**
   * Returns a pack's records, in this database's format, as rows of a table named `given`. Its columns are `place`,
   * which counts from 0, and one text or number column for each of `packedFields`. Many rows can thus be inserted with
   * few parameters.
   */
  givenRecords(pack: FeedbackPack): RawBuilder<unknown>;
  /**
   * Returns lists of numbers of equal length as rows of a table named `given`, with one column and one parameter per
   * list. Null for databases in which one parameter per number is as fast.
   */
  readonly givenNumbers: ((lists: Readonly<Record<string, Float64Array>>) => RawBuilder<unknown>) | null;
  /**
   * Suffix of a statement that creates a table clustered by its primary key; empty if the database has no clustered
   * tables.
   */
  readonly clusteredTable: string;
  /**
   * Returns a suffix for a query whose transaction then writes the row that it finds. The suffix locks the row of
   * `table`, and skips rows that other transactions have locked. It is empty for databases in which only one
   * transaction writes at a time.
   */
  lockUnlocked(table: string): string;
}
