// Records as CSV (RFC 4180): a column for each field, in one spelling.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { Json } from "../../../base/domain/text/json.ts";
import { rowBody } from "./query/result-rows.ts";

/** Of a record whose fields nobody named. */
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

/** @param names checked; null for all */
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

/** A line of values: nothing for null, and JSON for objects and lists. */
export function csvLine(values: readonly Json[]): string {
  return `${values.map(cell).join(",")}\r\n`;
}

function cell(value: Json): string {
  if (value === null) return "";
  if (typeof value === "string") return inQuotes(noFormula(value));
  return inQuotes(JSON.stringify(value));
}

/** Spreadsheets compute what begins so, whoever wrote it (https://owasp.org/www-community/attacks/CSV_Injection). */
function noFormula(text: string): string {
  // The last four are full-width forms of the first, which East Asian editions of Excel compute too.
  return /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) ? `'${text}` : text;
}

/** An empty text is told from nothing by its quotes. */
function inQuotes(text: string): string {
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
