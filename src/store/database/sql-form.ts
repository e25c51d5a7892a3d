// The parts of SQL that databases write in different ways: JSON in texts, numbers in texts, the order of texts. What each
// gives is said here; a database has its own (`sqlite/sqlite-form`).
import type { RawBuilder } from "kysely";
import type { FeedbackPack, PackForm } from "../../base/domain/feedback-query/feedback-batch.ts";
import type { PathStep } from "../../base/domain/feedback-query/feedback-field.ts";

/** A text, or a JSON value as its text; null where there is none. */
export type SqlText = RawBuilder<string | null>;
export type SqlNumber = RawBuilder<number | null>;

export interface SqlForm {
  /** What lies at a path in a text of JSON, as JSON; null where nothing does. Indices lead into lists, names into objects. */
  jsonAt(json: SqlText, path: readonly PathStep[]): SqlText;
  /** The text of a JSON value: a string's own, of anything else its JSON; null where it is null or not there. */
  textOfJson(json: SqlText): SqlText;
  /** The number that a text is written as, as `numberOfText` has it; null where it is none. */
  numberOfText(text: SqlText): SqlNumber;
  /** The number that a JSON value, or a string in it, is; null where it is none. */
  numberOfJson(json: SqlText): SqlNumber;
  /** How many items a JSON list has; null of anything else. */
  itemCount(json: SqlText): SqlNumber;
  /** A number without its fraction. */
  whole(number: SqlNumber): SqlNumber;
  /** Where in a text another begins, from 1 on; 0 where it does not. Of an empty one 1. */
  position(text: SqlText, part: SqlText): RawBuilder<number>;
  /** With A to Z in lower case. */
  lower(text: SqlText): SqlText;
  /** A text that compares and sorts by code points. */
  ordered(text: SqlText): SqlText;
  /** How a batch of feedback is packed that it reads fast. */
  readonly packForm: PackForm;
  /**
   * The records of a pack of that form as the rows of a table `given`: `place` from 0 on, and a column of the name of each of
   * `packedFields`, of texts or numbers. So that many rows are inserted by few parameters.
   */
  givenRecords(pack: FeedbackPack): RawBuilder<unknown>;
  /**
   * Lists of numbers, all of one length, as the rows of a table `given`, whose columns have the lists' names; each list is one
   * parameter. Null where rows come as quickly with a parameter for each value.
   */
  readonly givenNumbers: ((lists: Readonly<Record<string, Float64Array>>) => RawBuilder<unknown>) | null;
  /** What ends the statement that makes a table which is kept in the order of its primary key, where there is such a thing. */
  readonly clusteredTable: string;
  /**
   * What ends a query within a transaction that writes a row which it finds: the row of `table` is locked from there on, and
   * those that other transactions have locked are not found. Empty where there is one transaction that writes at a time.
   */
  lockUnlocked(table: string): string;
}
