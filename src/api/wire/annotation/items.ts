// Items of annotation queues on the wire, and what annotators do with them.
import { Type, type Static } from "typebox";
import type { ItemFilter } from "../../../base/domain/annotation/annotation-store.ts";
import {
  type AnnotationItem,
  type Answers,
  type ItemAnnotation,
  overallStateOf,
} from "../../../base/domain/annotation/queue.ts";
import { isObject, report } from "../../../base/validation/findings.ts";
import type { ClaimedItem } from "../../../judge/annotation/annotator-service.ts";
import type { ItemContent } from "../../../judge/annotation/item-content.ts";
import type { RecordedFilter } from "../../../judge/annotation/queried-items.ts";
import { contentSchema } from "../feedback/feedback.ts";
import { answerOf, creation, readBy, type ReadValues } from "../fields/resource.ts";
import { nullable, orNull } from "../nullable.ts";
import { annotatorField, commonRows, holdField, sliceFields } from "./fields.ts";

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
export const itemsAddForm = creation(
  "AnnotationItemsAddReq",
  {
    ...commonRows,
    call_ids: nullable(Type.Array(Type.String()), {
      default: [],
      description:
        "Ids of calls, such as those of recorded completions, or references of calls, objects or ops.",
    }),
    feedback_query: nullable(Type.Object({}, { additionalProperties: true }), {
      description: 'What feedback of the project is on: `{"$expr": …}` in the language of queries.',
      examples: [{ $expr: { $eq: [{ $getField: "feedback_type" }, { $literal: "vendor.reaction.1" }] } }],
    }),
    completions: readBy(
      nullable(recordedSchema, { description: "Recorded completions of the project, the newest first." }),
      toRecordedFilter,
      null,
    ),
    display_fields: readBy(
      nullable(Type.Array(displayField, { maxItems: 100 }), {
        default: [],
        description: "What of a call whoever shows it shows first.",
      }),
      (sent) => sent.map(({ json_path: jsonPath, label }) => ({ jsonPath, label })),
      [],
    ),
  },
  {
    more: ({ call_ids: ids, feedback_query: query, completions }, findings) => {
      if ([ids, query, completions].some((one) => (one ?? null) !== null)) return;
      report(
        findings,
        "missing",
        "Field required: give call_ids, feedback_query or completions.",
        "call_ids",
      );
    },
  },
);

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
const queryRows = {
  ...commonRows,
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
};
export const itemsQueryForm = creation("AnnotationItemsQueryReq", queryRows, {
  moreUnserved: ({ filter }) =>
    (["call_op_name", "call_trace_id"] as const).flatMap((field) => {
      if (!isObject(filter) || (filter[field] ?? null) === null) return [];
      const message = `filter.${field} is not supported by this server, which knows no more of a call than its id; leave it out.`;
      return [{ location: ["body", "filter", field], message, type: "unsupported" }];
    }),
});

const holdRows = { ...commonRows, annotator: annotatorField, hold_seconds: holdField };
export const claimForm = creation("AnnotationClaimReq", holdRows);
export const progressForm = creation("AnnotationProgressReq", {
  ...commonRows,
  annotator: annotatorField,
  annotation_state: Type.Enum([...states], {
    description: "One of in_progress, completed and skipped; what was completed or skipped stays so.",
  }),
  hold_seconds: holdField,
});
export const answerForm = creation("AnnotationAnswerReq", {
  ...commonRows,
  annotator: annotatorField,
  answers: readBy(
    Type.Object(
      {},
      {
        additionalProperties: true,
        description: "Answers by the names of the questions.",
        examples: [{ tone: "good" }],
      },
    ),
    // Safe cast: parsed from JSON.
    (sent) => sent as Answers,
  ),
});
export const releaseForm = creation("AnnotationReleaseReq", { ...commonRows, annotator: annotatorField });

export const itemOrderNames = {
  position_in_queue: "position",
  created_at: "createdAt",
  call_id: "callId",
} as const;

export function toItemFilter({ filter, annotator }: ReadValues<typeof queryRows>): ItemFilter {
  return {
    id: filter?.id ?? null,
    callId: filter?.call_id ?? null,
    addedBy: filter?.added_by ?? null,
    states: filter?.annotation_states ?? null,
    annotator,
  };
}

const time = Type.String({ format: "date-time" });
const annotationAnswer = answerOf<ItemAnnotation>()(null, {
  annotator: Type.String(),
  annotation_state: [Type.Enum([...states]), ({ state }) => state],
  held_until: orNull(time, { description: "Until when nobody else is given the item." }),
  updated_at: time,
});
/** The position is null where it is not asked for. */
type ShownItem = Omit<AnnotationItem, "position"> & { readonly position: number | null };
export const itemAnswer = answerOf<ShownItem>()("AnnotationItem", {
  id: Type.String(),
  queue_id: Type.String(),
  call_id: Type.String(),
  vendor_ref: Type.String({ description: "What feedback on the item is on." }),
  weave_ref: [
    Type.String({ description: "The same as vendor_ref, by another name." }),
    ({ vendorRef }) => vendorRef,
  ],
  display_fields: [
    Type.Array(displayField),
    ({ displayFields }) => displayFields.map(({ jsonPath, label }) => ({ json_path: jsonPath, label })),
  ],
  added_by: Type.String(),
  annotation_state: [Type.Enum([...states], { description: "Of whoever is furthest." }), overallStateOf],
  annotator_user_id: [
    orNull(Type.String(), { description: "Who that is." }),
    (item) => {
      const state = overallStateOf(item);
      return item.annotations.find((one) => one.state === state)?.annotator ?? null;
    },
  ],
  annotations: [
    Type.Array(annotationAnswer.schema, { description: "How far everybody is who has begun." }),
    ({ annotations }) => annotations.map(annotationAnswer.body),
  ],
  created_at: time,
  updated_at: [
    time,
    ({ createdAt, annotations }) =>
      new Date(Math.max(...[createdAt, ...annotations.map((one) => one.updatedAt)].map(Number))),
  ],
  deleted_at: [orNull(time), () => null],
  position_in_queue: [orNull(Type.Integer({ minimum: 1 })), ({ position }) => position],
});
const contentAnswer = answerOf<ItemContent>()("AnnotationItemContent", {
  messages: Type.Array(Type.Object({ role: Type.String(), text: Type.String() }), {
    description: "What was asked, the oldest first.",
  }),
  answers: [
    Type.Array(
      Type.Object({
        text: Type.String(),
        reasoning: Type.String(),
        calls: Type.Array(Type.Object({ name: Type.String(), arguments: Type.String() })),
      }),
      { description: "The choice that the item names, or all." },
    ),
    ({ answers }) =>
      answers.map(({ calls, ...answer }) => ({
        ...answer,
        calls: calls.map(({ name, argumentsText }) => ({ name, arguments: argumentsText })),
      })),
  ],
});
export const itemAnswerSchema = Type.Object({ item: itemAnswer.schema });
export const itemsAnswerSchema = Type.Object({ items: Type.Array(itemAnswer.schema) });
export const addedItemsSchema = Type.Object({
  added_count: Type.Integer({ minimum: 0 }),
  duplicates: Type.Integer({ minimum: 0, description: "Those that the queue had, or that came twice." }),
});
export const claimAnswer = answerOf<ClaimedItem>()(null, {
  item: [
    orNull(itemAnswer.schema, { description: "Null where there is none now." }),
    ({ item }) => (item === null ? null : itemAnswer.body(item)),
  ],
  content: [
    orNull(contentAnswer.schema, { description: "What the call says; null where it is not recorded here." }),
    ({ content }) => (content === null ? null : contentAnswer.body(content)),
  ],
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
  item: itemAnswer.schema,
  feedback: Type.Array(Type.Object(contentSchema, { title: "FeedbackRecord" }), {
    description: "The records that the answers are.",
  }),
});
