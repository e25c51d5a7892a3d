// Interface for SQL that each database writes differently: reading JSON in texts, reading numbers in texts, and sorting
// texts. The interface defines the results; each database has an implementation, such as `sqlite/sqlite-form.ts`.
import type { RawBuilder, SqlBool } from "kysely";
import type { FeedbackPack, PackForm } from "../../base/domain/feedback-query/feedback-batch.ts";
import type { PathStep } from "../../base/domain/feedback-query/feedback-field.ts";

/** SQL for a text, or for a JSON value as text. It is null if the value is missing. */
export type SqlText = RawBuilder<string | null>;
export type SqlNumber = RawBuilder<number | null>;

export interface SqlForm {
  /**
   * Returns SQL for the JSON at a path in a JSON text; null if it is missing. Indices in the path refer to list items,
   * names to object members.
   */
  jsonAt(json: SqlText, path: readonly PathStep[]): SqlText;
  /**
   * Returns SQL for a JSON value as text: the content of a string, otherwise the JSON. Null for null or a missing
   * value.
   */
  textOfJson(json: SqlText): SqlText;
  /** Returns SQL for the number that a text represents, by the rules of `numberOfText`; null if it is not a number. */
  numberOfText(text: SqlText): SqlNumber;
  /** Returns SQL for the number in a JSON number or JSON string; null if it is not a number. */
  numberOfJson(json: SqlText): SqlNumber;
  /** Returns SQL for the number of items in a JSON list; null for any other value. */
  itemCount(json: SqlText): SqlNumber;
  /** Returns SQL that truncates a number to an integer. */
  whole(number: SqlNumber): SqlNumber;
  /** Returns SQL for the 1-based position of `part` in `text`: 0 if absent, 1 for an empty part. */
  position(text: SqlText, part: SqlText): RawBuilder<number>;
  /** Returns SQL for the text with the letters A to Z in lower case. */
  lower(text: SqlText): SqlText;
  /**
   * Returns SQL that is true if a text matches a pattern of SQL's LIKE that has no backslash. A letter A to Z in the
   * pattern matches in either case.
   */
  like(text: SqlText, pattern: string): RawBuilder<SqlBool>;
  /** Returns SQL for a text that compares and sorts by code points. */
  ordered(text: SqlText): SqlText;
  /** Format for packed feedback batches that this database reads fastest. */
  readonly packForm: PackForm;
  /**
   * Returns SQL for the records of a pack as rows of a table named `given`, so that one statement can insert many rows
   * with few parameters. The table's columns are `place`, which counts from 0, and one for each of `packedFields`.
   */
  givenRecords(pack: FeedbackPack): RawBuilder<unknown>;
  /**
   * Returns SQL that presents several lists of numbers, all of equal length, as rows of a table named `given`. Each
   * list is one column and one parameter. Null for databases in which one parameter per number is as fast.
   */
  readonly givenNumbers: ((lists: Readonly<Record<string, Float64Array>>) => RawBuilder<unknown>) | null;
  /**
   * Suffix of a statement that creates a table clustered by its primary key. Empty if the database has no clustered
   * tables.
   */
  readonly clusteredTable: string;
  /**
   * Returns a suffix for a query that selects a row which the same transaction then changes. It locks the row of
   * `table`, and skips rows that other transactions have locked. Empty for databases in which only one transaction
   * writes at a time.
   */
  lockUnlocked(table: string): string;
}
