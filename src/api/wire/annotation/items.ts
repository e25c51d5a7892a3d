// Items of annotation queues on the wire, and what annotators do with them.
import { Type, type Static } from "typebox";
import type { ItemFilter } from "../../../base/domain/annotation/annotation-store.ts";
import { type AnnotationItem, overallStateOf } from "../../../base/domain/annotation/queue.ts";
import type { Json } from "../../../base/domain/text/json.ts";
import type { ItemsToAdd } from "../../../judge/annotation/annotation-service.ts";
import type { ItemContent } from "../../../judge/annotation/item-content.ts";
import type { RecordedFilter } from "../../../judge/annotation/queried-items.ts";
import type { QueryLimits } from "../../../base/domain/feedback-query/query-limits.ts";
import { readFilter } from "../rewards/feedback-filter.ts";
import type { ClaimedItem } from "../../../judge/annotation/annotator-service.ts";
import { isObject, report } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";
import { contentSchema } from "../feedback/feedback.ts";
import { nullable, orNull } from "../nullable.ts";
import { annotatorField, commonFields, holdField, sliceFields } from "./fields.ts";

const displayField = Type.Object({
  json_path: Type.String({ maxLength: 1024, description: "Where in the call it is." }),
  label: Type.String({ maxLength: 256, description: "What it is called." }),
});
const recordedSchema = Type.Object(
  {
    model_id: nullable(Type.String({ format: "uuid" }), { description: "Of one model." }),
    step: nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), {
      description: "Only of this version.",
    }),
    ended_from: nullable(Type.String({ format: "date-time" }), { description: "Ended then or later." }),
    ended_before: nullable(Type.String({ format: "date-time" }), { description: "Ended before." }),
  },
  { title: "RecordedCompletionFilter" },
);
const addSchema = Type.Object(
  {
    ...commonFields,
    call_ids: nullable(Type.Array(Type.String()), {
      default: [],
      description:
        "Ids of calls, such as those of recorded completions, or references of calls, objects or ops.",
    }),
    feedback_query: nullable(Type.Object({}, { additionalProperties: true }), {
      description: 'What feedback of the project is on: `{"$expr": …}` in the language of queries.',
      examples: [{ $expr: { $eq: [{ $getField: "feedback_type" }, { $literal: "vendor.reaction.1" }] } }],
    }),
    completions: nullable(recordedSchema, {
      description: "Recorded completions of the project, the newest first.",
    }),
    display_fields: nullable(Type.Array(displayField, { maxItems: 100 }), {
      default: [],
      description: "What of a call whoever shows it shows first.",
    }),
  },
  { title: "AnnotationItemsAddReq" },
);

const states = ["unstarted", "in_progress", "completed", "skipped"] as const;
const filterSchema = Type.Object({
  id: nullable(Type.String(), { description: "Of one item." }),
  call_id: nullable(Type.String(), { description: "Of the call that an item is of." }),
  added_by: nullable(Type.String(), { description: "Who added them." }),
  annotation_states: nullable(Type.Array(Type.Enum([...states])), {
    description: "Those in one of these states.",
  }),
  call_op_name: nullable(Type.String(), { description: "Not supported." }),
  call_trace_id: nullable(Type.String(), { description: "Not supported." }),
});
const querySchema = Type.Object(
  {
    ...commonFields,
    filter: nullable(filterSchema, { description: "Which items; what is absent lets all through." }),
    annotator: nullable(Type.String({ minLength: 1, maxLength: 128 }), {
      description: "Whose states `annotation_states` is about.",
      "x-default": "whoever is furthest with an item",
    }),
    include_position: nullable(Type.Boolean(), {
      default: true,
      description: "Whether the place of each in the queue is told.",
    }),
    ...sliceFields(["position_in_queue", "created_at", "call_id"], 1000),
  },
  { title: "AnnotationItemsQueryReq" },
);

const claimSchema = Type.Object(
  { ...commonFields, annotator: annotatorField, hold_seconds: holdField },
  { title: "AnnotationClaimReq" },
);
const progressSchema = Type.Object(
  {
    ...commonFields,
    annotator: annotatorField,
    annotation_state: Type.Enum([...states], {
      description: "One of in_progress, completed and skipped; what was completed or skipped stays so.",
    }),
    hold_seconds: holdField,
  },
  { title: "AnnotationProgressReq" },
);
const answerSchema = Type.Object(
  {
    ...commonFields,
    annotator: annotatorField,
    answers: Type.Object(
      {},
      {
        additionalProperties: true,
        description: "Answers by the names of the questions.",
        examples: [{ tone: "good" }],
      },
    ),
  },
  { title: "AnnotationAnswerReq" },
);
const releaseSchema = Type.Object(
  { ...commonFields, annotator: annotatorField },
  { title: "AnnotationReleaseReq" },
);

export const itemsAddForm: BodyForm<typeof addSchema> = {
  schema: addSchema,
  more: ({ call_ids: ids, feedback_query: query, completions }, findings) => {
    if ([ids, query, completions].some((one) => (one ?? null) !== null)) return;
    report(findings, "missing", "Field required: give call_ids, feedback_query or completions.", "call_ids");
  },
};
export const itemsQueryForm: BodyForm<typeof querySchema> = {
  schema: querySchema,
  moreUnserved: ({ filter }) =>
    (["call_op_name", "call_trace_id"] as const).flatMap((field) => {
      if (!isObject(filter) || (filter[field] ?? null) === null) return [];
      const message = `filter.${field} is not supported by this server, which knows no more of a call than its id; leave it out.`;
      return [{ location: ["body", "filter", field], message, type: "unsupported" }];
    }),
};
export const claimForm: BodyForm<typeof claimSchema> = { schema: claimSchema };
export const reopenForm: BodyForm<typeof claimSchema> = { schema: claimSchema };
export const progressForm: BodyForm<typeof progressSchema> = { schema: progressSchema };
export const answerForm: BodyForm<typeof answerSchema> = { schema: answerSchema };
export const releaseForm: BodyForm<typeof releaseSchema> = { schema: releaseSchema };

export const itemOrderNames = {
  position_in_queue: "position",
  created_at: "createdAt",
  call_id: "callId",
} as const;

export function toItemFilter({ filter, annotator }: Static<typeof querySchema>): ItemFilter {
  return {
    id: filter?.id ?? null,
    callId: filter?.call_id ?? null,
    addedBy: filter?.added_by ?? null,
    states: filter?.annotation_states ?? null,
    annotator: annotator ?? null,
  };
}

/** @param limits of the query */
export function toItemsToAdd(body: Static<typeof addSchema>, limits: QueryLimits): ItemsToAdd {
  const { feedback_query: query, completions } = body;
  return {
    callIds: body.call_ids ?? [],
    condition: (query ?? null) === null ? null : readFilter(query, limits, ["feedback_query"]),
    recorded: completions === undefined || completions === null ? null : toRecordedFilter(completions),
    displayFields: (body.display_fields ?? []).map(({ json_path: jsonPath, label }) => ({ jsonPath, label })),
  };
}

function toRecordedFilter(filter: Static<typeof recordedSchema>): RecordedFilter {
  const time = (text: string | null | undefined): Date | null =>
    (text ?? null) === null ? null : new Date(text ?? 0);
  return {
    modelId: filter.model_id?.toLowerCase() ?? null,
    step: filter.step ?? null,
    endedFrom: time(filter.ended_from),
    endedBefore: time(filter.ended_before),
  };
}

/** Answers as they came out of JSON. */
export function toAnswers({ answers }: Static<typeof answerSchema>): Readonly<Record<string, Json>> {
  return answers as Readonly<Record<string, Json>>;
}

const time = Type.String({ format: "date-time" });
const stateSchema = Type.Enum([...states]);
export const itemSchema = Type.Object(
  {
    id: Type.String(),
    queue_id: Type.String(),
    call_id: Type.String(),
    vendor_ref: Type.String({ description: "What feedback on the item is on." }),
    weave_ref: Type.String({ description: "The same as vendor_ref, by another name." }),
    display_fields: Type.Array(displayField),
    added_by: Type.String(),
    annotation_state: Type.Enum([...states], { description: "Of whoever is furthest." }),
    annotator_user_id: orNull(Type.String(), { description: "Who that is." }),
    annotations: Type.Array(
      Type.Object({
        annotator: Type.String(),
        annotation_state: stateSchema,
        held_until: orNull(time, { description: "Until when nobody else is given the item." }),
        updated_at: time,
      }),
      { description: "How far everybody is who has begun." },
    ),
    created_at: time,
    updated_at: time,
    deleted_at: orNull(time),
    position_in_queue: orNull(Type.Integer({ minimum: 1 })),
  },
  { title: "AnnotationItem" },
);
const contentOfItem = Type.Object(
  {
    messages: Type.Array(Type.Object({ role: Type.String(), text: Type.String() }), {
      description: "What was asked, the oldest first.",
    }),
    answers: Type.Array(
      Type.Object({
        text: Type.String(),
        reasoning: Type.String(),
        calls: Type.Array(Type.Object({ name: Type.String(), arguments: Type.String() })),
      }),
      { description: "The choice that the item names, or all." },
    ),
  },
  { title: "AnnotationItemContent" },
);
export const itemAnswerSchema = Type.Object({ item: itemSchema });
export const itemsAnswerSchema = Type.Object({ items: Type.Array(itemSchema) });
export const addedItemsSchema = Type.Object({
  added_count: Type.Integer({ minimum: 0 }),
  duplicates: Type.Integer({ minimum: 0, description: "Those that the queue had, or that came twice." }),
});
export const claimAnswerSchema = Type.Object({
  item: orNull(itemSchema, { description: "Null where there is none now." }),
  content: orNull(contentOfItem, { description: "What the call says; null where it is not recorded here." }),
  annotator: Type.String(),
  remaining: Type.Object({
    open: Type.Integer({
      minimum: 0,
      description: "Items that the annotator has still to do, this one too.",
    }),
    held: Type.Integer({ minimum: 0, description: "Those of them that others hold, and may give back." }),
  }),
});
export const answeredItemSchema = Type.Object({
  item: itemSchema,
  feedback: Type.Array(Type.Object(contentSchema, { title: "FeedbackRecord" }), {
    description: "The records that the answers are.",
  }),
});

export function itemBody(item: AnnotationItem, withPosition = true): object {
  const state = overallStateOf(item);
  const latest = item.annotations.map(({ updatedAt }) => updatedAt.getTime());
  return {
    id: item.id,
    queue_id: item.queueId,
    call_id: item.callId,
    vendor_ref: item.vendorRef,
    weave_ref: item.vendorRef,
    display_fields: item.displayFields.map(({ jsonPath, label }) => ({ json_path: jsonPath, label })),
    added_by: item.addedBy,
    annotation_state: state,
    annotator_user_id: item.annotations.find((one) => one.state === state)?.annotator ?? null,
    annotations: item.annotations.map(({ annotator, state: own, heldUntil, updatedAt }) => ({
      annotator,
      annotation_state: own,
      held_until: heldUntil?.toISOString() ?? null,
      updated_at: updatedAt.toISOString(),
    })),
    created_at: item.createdAt.toISOString(),
    updated_at: new Date(Math.max(item.createdAt.getTime(), ...latest)).toISOString(),
    deleted_at: null,
    position_in_queue: withPosition ? item.position : null,
  };
}

export function claimBody({ item, content, annotator, remaining }: ClaimedItem): object {
  return {
    item: item === null ? null : itemBody(item),
    content: content === null ? null : contentBody(content),
    annotator,
    remaining,
  };
}

function contentBody({ messages, answers }: ItemContent): object {
  return {
    messages,
    answers: answers.map(({ calls, ...answer }) => ({
      ...answer,
      calls: calls.map(({ name, argumentsText }) => ({ name, arguments: argumentsText })),
    })),
  };
}
