// API format of feedback. Some fields have two names, because clients use both: `vendor_ref` and `weave_ref`,
// `vendor_user_id` and `wb_user_id`. This module checks only shapes; the feedback service checks references and
// payloads.
import { Type, type Static } from "typebox";
import type { FeedbackRecord, FeedbackRevision } from "../../../base/domain/feedback.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { FeedbackInput } from "../../../judge/feedback/check-content.ts";
import type { BodyForm } from "../body.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { nullable, orNull } from "../nullable.ts";

/** A reference as text. Its maximum length is in characters. */
const referenceText = Type.String({ maxLength: 4096 });

/** Fields of a new record. One of `vendor_ref` and `weave_ref` is required, which `checkSpellings` checks. */
const createFields = {
  project_id: Type.String({ description: "Project, as `<entity>/<project>`." }),
  vendor_ref: nullable(referenceText, {
    description:
      "Reference of the object, op or call (such as a recorded completion) that the feedback is about. Required, in this field or in weave_ref.",
    examples: ["weave:///acme/games/call/0192d3a4"],
  }),
  weave_ref: nullable(referenceText, { description: "Alias of vendor_ref." }),
  feedback_type: Type.String({
    minLength: 1,
    maxLength: 256,
    description:
      "Type of the feedback. For some types, such as reactions and annotations, the server checks the payload.",
    examples: ["vendor.reaction.1"],
  }),
  payload: Type.Object(
    {},
    {
      additionalProperties: true,
      description: "Content of the feedback: a JSON object of at most 1 MiB.",
      examples: [{ emoji: "👍" }],
    },
  ),
  id: nullable(Type.String({ minLength: 1, maxLength: 256 }), {
    description:
      "Id of the record. If you send a record with the same id and content again, nothing is added.",
    "x-default": "a new one",
  }),
  creator: nullable(Type.String({ maxLength: 1024 }), {
    description: "Name of the feedback's author, as the client knows the author.",
  }),
  annotation_ref: nullable(referenceText, {
    description: "Reference of the annotation spec (`object/`) that asked for the feedback.",
  }),
  runnable_ref: nullable(referenceText, {
    description: "Reference of the scorer (`op/` or `object/`) that gave the feedback.",
  }),
  call_ref: nullable(referenceText, {
    description: "Reference of the scorer's call (`call/`) that gave the feedback.",
  }),
  trigger_ref: nullable(referenceText, {
    description: "Reference of the object (`object/`) that triggered the scorer.",
  }),
  queue_id: nullable(Type.String({ maxLength: 256 }), {
    description: "Id of the annotation queue in which the feedback was given.",
  }),
  // Requests must not set these two fields, because the server fills them with the record's author.
  vendor_user_id: Type.Optional(
    Type.Null({ description: "Omit this field or send null: the server sets it to the owner of the key." }),
  ),
  wb_user_id: Type.Optional(
    Type.Null({ description: "Omit this field or send null: the server sets it to the owner of the key." }),
  ),
};

/** Schema of a new record, both in a single request and in a batch. */
export const feedbackRecordSchema = Type.Object(createFields, { title: "FeedbackCreateReq" });
const replaceSchema = Type.Object(
  {
    ...createFields,
    feedback_id: Type.String({ minLength: 1, maxLength: 256, description: "Id of the record to replace." }),
  },
  { title: "FeedbackReplaceReq" },
);
const batchSchema = Type.Object(
  {
    batch: Type.Array(feedbackRecordSchema, {
      description: "Records to create. Either all of them are written, or none.",
    }),
  },
  { title: "FeedbackBatchCreateReq" },
);
const historySchema = Type.Object(
  {
    project_id: Type.String({ description: "Project, as `<entity>/<project>`." }),
    feedback_id: Type.String({ description: "Id of the feedback record." }),
    after: nullable(Type.String(), { description: "Cursor: the last `revision_id` of the previous page." }),
    limit: nullable(Type.Integer({ minimum: 1, maximum: 100 }), {
      default: 100,
      description: "Maximum number of revisions in the page.",
    }),
  },
  { title: "FeedbackHistoryReq" },
);

export type FeedbackBody = Static<typeof feedbackRecordSchema>;
export type FeedbackReplaceBody = Static<typeof replaceSchema>;

export const feedbackCreateForm: BodyForm<typeof feedbackRecordSchema> = {
  schema: feedbackRecordSchema,
  more: checkSpellings,
};
export const feedbackReplaceForm: BodyForm<typeof replaceSchema> = {
  schema: replaceSchema,
  more: checkSpellings,
};
export const feedbackBatchForm: BodyForm<typeof batchSchema> = { schema: batchSchema };
export const feedbackHistoryForm: BodyForm<typeof historySchema> = { schema: historySchema };

/** Adds faults that the schema cannot detect: a missing reference, or two different references under its two names. */
export function checkSpellings(record: unknown, findings: Findings): void {
  if (!isObject(record)) return;
  const vendor = nullIfEmpty(record["vendor_ref"]);
  const weave = nullIfEmpty(record["weave_ref"]);
  if (vendor === null && weave === null) report(findings, "missing", "Field required", "vendor_ref");
  if (typeof vendor === "string" && typeof weave === "string" && vendor !== weave) {
    const message =
      "Value error, vendor_ref and weave_ref are two spellings of one field and differ; give one.";
    report(findings, "value_error", message, "weave_ref");
  }
}

/**
 * True if the client used the less common name of a field that has two names. The answer to the client then has that
 * name, too.
 */
export function usesOtherSpelling(body: FeedbackBody): boolean {
  return body.weave_ref !== undefined || body.wb_user_id !== undefined;
}

/** Converts a checked record to the domain's form. */
export function toFeedbackInput(body: FeedbackBody): FeedbackInput {
  return {
    id: body.id ?? null,
    projectId: body.project_id,
    vendorRef: reference(body.vendor_ref) ?? reference(body.weave_ref) ?? "",
    feedbackType: body.feedback_type,
    // Safe cast: parsed from JSON.
    payload: body.payload as JsonObject,
    creator: body.creator ?? null,
    annotationRef: reference(body.annotation_ref),
    runnableRef: reference(body.runnable_ref),
    callRef: reference(body.call_ref),
    triggerRef: reference(body.trigger_ref),
    queueId: body.queue_id ?? null,
  };
}

/** Treats an empty text as absent. */
function nullIfEmpty<Value>(value: Value): Value | null {
  return value === undefined || value === "" ? null : value;
}

function reference(text: string | null | undefined): string | null {
  return nullIfEmpty(text) ?? null;
}

const answerFields = {
  id: Type.String({ description: "Id of the record." }),
  created_at: Type.String({ format: "date-time", description: "Time at which the record was written." }),
  vendor_user_id: Type.String({ description: "Owner of the key that wrote the record." }),
  wb_user_id: Type.Optional(
    Type.String({
      description:
        "Alias of vendor_user_id. Present if the request used the name `wb_user_id` or `weave_ref`.",
    }),
  ),
  payload: Type.Object({}, { additionalProperties: true, description: "Content of the feedback." }),
};
export const feedbackSchema = Type.Object(answerFields, { title: "Feedback" });
export const feedbackBatchAnswerSchema = Type.Object({
  res: Type.Array(feedbackSchema, { description: "The records, in the order of the batch." }),
});

export function feedbackBody(record: FeedbackRecord, otherSpelling: boolean): JsonObject {
  return {
    id: record.id,
    created_at: record.createdAt.toISOString(),
    vendor_user_id: record.vendorUserId,
    ...(otherSpelling ? { wb_user_id: record.vendorUserId } : {}),
    payload: record.payload,
  };
}

const shownReference = orNull(Type.String());

/** Schema members of a record in an answer with its whole content. */
export const contentSchema = {
  ...answerFields,
  project_id: Type.String({ description: "Project, as `<entity>/<project>`." }),
  vendor_ref: Type.String({ description: "Reference of the object, op or call that the feedback is about." }),
  weave_ref: Type.String({ description: "Alias of vendor_ref." }),
  feedback_type: Type.String(),
  creator: shownReference,
  annotation_ref: shownReference,
  runnable_ref: shownReference,
  call_ref: shownReference,
  trigger_ref: shownReference,
  queue_id: shownReference,
};

export const feedbackHistorySchema = Type.Object({
  result: Type.Array(
    Type.Object(
      {
        ...contentSchema,
        revision_id: Type.String({
          description: "Id of the revision; pass it as `after` to continue after it.",
        }),
        replaced_at: Type.String({
          format: "date-time",
          description: "Time at which a newer revision replaced this revision.",
        }),
      },
      { title: "FeedbackRevision" },
    ),
    { description: "Earlier revisions of the record, oldest first." },
  ),
  has_more: Type.Boolean({ description: "True if another page follows." }),
});

/** Converts an earlier revision of a record to the API's form, with the record's whole content. */
export function revisionBody({ id, record, replacedAt }: FeedbackRevision): object {
  return { ...contentBody(record), revision_id: id, replaced_at: replacedAt.toISOString() };
}

/** Converts a record to the API's form, with its whole content. A field that has two names appears under both. */
export function contentBody(record: FeedbackRecord): JsonObject {
  return {
    ...feedbackBody(record, true),
    project_id: record.projectId,
    vendor_ref: record.vendorRef,
    weave_ref: record.vendorRef,
    feedback_type: record.feedbackType,
    creator: record.creator,
    annotation_ref: record.annotationRef,
    runnable_ref: record.runnableRef,
    call_ref: record.callRef,
    trigger_ref: record.triggerRef,
    queue_id: record.queueId,
  };
}
