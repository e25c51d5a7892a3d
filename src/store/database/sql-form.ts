// SQL that differs between databases: JSON in texts, numbers in texts, text order. This interface defines the results;
// each database implements it (`sqlite/sqlite-form`).
import type { RawBuilder } from "kysely";
import type { FeedbackPack, PackForm } from "../../base/domain/feedback-query/feedback-batch.ts";
import type { PathStep } from "../../base/domain/feedback-query/feedback-field.ts";

/** A text, or a JSON value as text; null if missing. */
export type SqlText = RawBuilder<string | null>;
export type SqlNumber = RawBuilder<number | null>;

export interface SqlForm {
  /** The JSON at a path in a JSON text; null if missing. Indices address list items, names address object members. */
  jsonAt(json: SqlText, path: readonly PathStep[]): SqlText;
  /** The text of a JSON value: a string's content, otherwise its JSON; null for null or a missing value. */
  textOfJson(json: SqlText): SqlText;
  /** The number that a text spells, by the rules of `numberOfText`; null if it is not a number. */
  numberOfText(text: SqlText): SqlNumber;
  /** The number that a JSON value is, or that a JSON string spells; null if it is not a number. */
  numberOfJson(json: SqlText): SqlNumber;
  /** Number of items in a JSON list; null for any other value. */
  itemCount(json: SqlText): SqlNumber;
  /** A number truncated to an integer. */
  whole(number: SqlNumber): SqlNumber;
  /** 1-based position of `part` in `text`; 0 if absent, 1 for an empty part. */
  position(text: SqlText, part: SqlText): RawBuilder<number>;
  /** The text with A to Z in lower case. */
  lower(text: SqlText): SqlText;
  /** A text that compares and sorts by code points. */
  ordered(text: SqlText): SqlText;
  /** Packing of feedback batches that the database reads fast. */
  readonly packForm: PackForm;
  /**
   * The records of a pack in that form, as rows of a table `given`: `place` from 0, and one column, text or number,
   * for each of `packedFields`. Inserts many rows with few parameters.
   */
  givenRecords(pack: FeedbackPack): RawBuilder<unknown>;
  /**
   * Number lists of equal length as rows of a table `given`, with one column per list and one parameter per list. Null
   * if one parameter per value is as fast.
   */
  readonly givenNumbers: ((lists: Readonly<Record<string, Float64Array>>) => RawBuilder<unknown>) | null;
  /** Suffix of a statement that creates a table clustered by its primary key; empty if the database has none. */
  readonly clusteredTable: string;
  /**
   * Suffix of a query in a transaction that writes the row it finds. It locks the row of `table` and skips rows locked
   * by other transactions. Empty if only one transaction writes at a time.
   */
  lockUnlocked(table: string): string;
}
