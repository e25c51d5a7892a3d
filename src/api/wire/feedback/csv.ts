// Writes feedback records as CSV (RFC 4180), with one column per field.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { Json } from "../../../base/domain/text/json.ts";
import { rowBody } from "./query/result-rows.ts";

/** Columns of the file if the request does not select fields. */
const allColumns: readonly string[] = [
  "id",
  "created_at",
  "project_id",
  "vendor_ref",
  "feedback_type",
  "payload",
  "creator",
  "vendor_user_id",
  "annotation_ref",
  "runnable_ref",
  "call_ref",
  "trigger_ref",
  "queue_id",
];

export interface CsvWriter {
  readonly header: string;
  readonly line: (record: FeedbackRecord) => string;
}

/**
 * Returns a writer that converts records to lines of CSV.
 *
 * @param names checked names of the fields to write; null to write all fields
 */
export function csvWriter(names: readonly string[] | null): CsvWriter {
  const columns = (names ?? ["*"]).flatMap((name) => (name === "*" ? allColumns : [name]));
  return {
    header: csvLine(columns),
    line: (record) => {
      const row = rowBody(record, columns);
      return csvLine(columns.map((column) => row[column] ?? null));
    },
  };
}

/** Returns a CSV line with these values. Null becomes an empty cell, and objects and lists become JSON. */
export function csvLine(values: readonly Json[]): string {
  return `${values.map(cell).join(",")}\r\n`;
}

function cell(value: Json): string {
  if (value === null) return "";
  if (typeof value === "string") return quoteIfNeeded(escapeFormula(value));
  return quoteIfNeeded(JSON.stringify(value));
}

/**
 * Puts an apostrophe before a text that a spreadsheet would evaluate as a formula, judged by its first character
 * (https://owasp.org/www-community/attacks/CSV_Injection).
 */
function escapeFormula(text: string): string {
  // The last four characters are full-width forms of `=`, `+`, `-` and `@`. East Asian editions of Excel evaluate texts
  // that begin with them, too.
  return /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) ? `'${text}` : text;
}

/** Quotes the text if CSV requires it. Also quotes an empty text, because an unquoted empty cell means null. */
function quoteIfNeeded(text: string): string {
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
