// Writes one row of an answer: a whole record, or the requested fields under their requested names.
import type { FeedbackRecord } from "../../../../base/domain/feedback.ts";
import type { FeedbackField } from "../../../../base/domain/feedback-query/feedback-field.ts";
import { recordText } from "../../../../base/domain/feedback-query/stored-form.ts";
import { valueAt } from "../../../../base/domain/feedback-query/values.ts";
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";
import { contentBody } from "../feedback.ts";
import { fieldNamed } from "./record-fields.ts";

/** Column for the number of records; not a field. */
export const countColumn = "count(*)";

/** @param names checked names; null for all */
export function rowBody(record: FeedbackRecord, names: readonly string[] | null): JsonObject {
  const all = contentBody(record);
  if (names === null) return all;
  return names.reduce<JsonObject>(
    (row, name) =>
      name === "*" ? { ...row, ...all } : { ...row, [name]: fieldValue(record, fieldNamed(name)) },
    {},
  );
}

/** Null if the record has no such value. */
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
