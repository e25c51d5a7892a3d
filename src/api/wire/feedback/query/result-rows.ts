// One row of an answer: all of a record, or the fields that were asked for, each under the name it was asked for by.
import type { FeedbackRecord } from "../../../../base/domain/feedback.ts";
import type { FeedbackField } from "../../../../base/domain/feedback-query/feedback-field.ts";
import { recordText } from "../../../../base/domain/feedback-query/stored-form.ts";
import { valueAt } from "../../../../base/domain/feedback-query/values.ts";
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";
import { contentBody } from "../feedback.ts";
import { fieldNamed } from "./record-fields.ts";

/** The column that is no field: how many records there are. */
export const countColumn = "count(*)";

/** @param names checked; null for all */
export function rowBody(record: FeedbackRecord, names: readonly string[] | null): JsonObject {
  const all = contentBody(record);
  if (names === null) return all;
  return names.reduce<JsonObject>(
    (row, name) =>
      name === "*" ? { ...row, ...all } : { ...row, [name]: fieldValue(record, fieldNamed(name)) },
    {},
  );
}

/** Null where there is none. */
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
