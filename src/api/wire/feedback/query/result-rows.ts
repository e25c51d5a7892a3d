// Converts feedback records to rows of an answer. A row is a whole record, or has the requested fields under the names
// that the request uses.
import type { FeedbackRecord } from "../../../../base/domain/feedback.ts";
import type { FeedbackField } from "../../../../base/domain/feedback-query/feedback-field.ts";
import { recordText } from "../../../../base/domain/feedback-query/stored-form.ts";
import { valueAt } from "../../../../base/domain/feedback-query/values.ts";
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";
import { contentBody } from "../feedback.ts";
import { fieldNamed } from "./record-fields.ts";

/** Column name with which a query asks for the number of records. It is not a field of a record. */
export const countColumn = "count(*)";

/**
 * Returns a record's row in an answer.
 *
 * @param names checked names of fields; null for the whole record
 */
export function rowBody(record: FeedbackRecord, names: readonly string[] | null): JsonObject {
  const all = contentBody(record);
  if (names === null) return all;
  return names.reduce<JsonObject>(
    (row, name) =>
      name === "*" ? { ...row, ...all } : { ...row, [name]: fieldValue(record, fieldNamed(name)) },
    {},
  );
}

/** Returns the value of a record's field; null if the record has no such value. */
function fieldValue(record: FeedbackRecord, field: FeedbackField): Json {
  switch (field.kind) {
    case "text":
      return recordText(record, field.name);
    case "createdAt":
      return record.createdAt.toISOString();
    default:
      return valueAt(record.payload, field.path) ?? null;
  }
}
