// API format of items in annotation queues, and of the requests that annotators send.
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
import type { ItemBeginnings, ItemContent } from "../../../judge/annotation/item-content.ts";
import type { RecordedFilter } from "../../../judge/annotation/queried-items.ts";
import { contentSchema } from "../feedback/feedback.ts";
import { answerOf, creation, readBy, type ReadValues } from "../fields/resource.ts";
import { nullable, orNull } from "../nullable.ts";
import { annotatorField, commonRows, holdField, sliceFields } from "./fields.ts";

const displayField = Type.Object({
  json_path: Type.String({ maxLength: 1024, description: "JSON path of the field in the call." }),
  label: Type.String({ maxLength: 256, description: "Text that clients show next to the field's value." }),
});
const recordedSchema = Type.Object(
  {
    model_id: nullable(Type.String({ format: "uuid" }), {
      description: "Only completions of the model with this id.",
    }),
    step: nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), {
      description: "Only completions by this version of the model.",
    }),
    ended_from: nullable(Type.String({ format: "date-time" }), {
      description: "Only completions that ended at this time or later.",
    }),
    ended_before: nullable(Type.String({ format: "date-time" }), {
      description: "Only completions that ended before this time.",
    }),
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
        "Items to add: ids of calls (such as recorded completions), or references of calls, objects or ops.",
    }),
    feedback_query: nullable(Type.Object({}, { additionalProperties: true }), {
      description:
        'Also adds the calls, objects and ops about which the project has feedback that matches this condition: `{"$expr": …}` in the query language of `/feedback/query`.',
      examples: [{ $expr: { $eq: [{ $getField: "feedback_type" }, { $literal: "vendor.reaction.1" }] } }],
    }),
    completions: readBy(
      nullable(recordedSchema, {
        description:
          "Conditions on the project's recorded completions. Those that match all conditions are added too, newest first. A completion with several choices becomes an item for each choice.",
      }),
      toRecordedFilter,
      null,
    ),
    display_fields: readBy(
      nullable(Type.Array(displayField, { maxItems: 100 }), {
        default: [],
        description: "Fields of the calls that clients should show first.",
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
  id: nullable(Type.String(), { description: "Only the item with this id." }),
  call_id: nullable(Type.String(), { description: "Only items of the call with this id." }),
  added_by: nullable(Type.String(), {
    description: "Only items that were added with a key of this owner.",
  }),
  annotation_states: nullable(Type.Array(Type.Enum([...states])), {
    description: "Only items in one of these states.",
  }),
  call_op_name: nullable(Type.String(), { description: "Not supported." }),
  call_trace_id: nullable(Type.String(), { description: "Not supported." }),
});
const queryRows = {
  ...commonRows,
  filter: nullable(filterSchema, {
    description: "Conditions on the items to list; fields that are absent match all items.",
  }),
  annotator: nullable(Type.String({ minLength: 1, maxLength: 128 }), {
    description: "Name of the annotator whose state must be one of `annotation_states`.",
    "x-default": "for each item, the annotator who has progressed furthest",
  }),
  include_position: nullable(Type.Boolean(), {
    default: true,
    description: "True to include each item's position in the queue.",
  }),
  include_beginnings: nullable(Type.Boolean(), {
    default: false,
    description: "True to include the beginnings of each item's prompt and answer.",
  }),
  ...sliceFields(["position_in_queue", "created_at", "call_id"], 1000),
};
export const itemsQueryForm = creation("AnnotationItemsQueryReq", queryRows, {
  moreUnserved: ({ filter }) =>
    (["call_op_name", "call_trace_id"] as const).flatMap((field) => {
      if (!isObject(filter) || (filter[field] ?? null) === null) return [];
      const message = `filter.${field} is not supported by this server, which knows only the ids of calls; leave it out.`;
      return [{ location: ["body", "filter", field], message, type: "unsupported" }];
    }),
});

const holdRows = { ...commonRows, annotator: annotatorField, hold_seconds: holdField };
export const claimForm = creation("AnnotationClaimReq", holdRows);
export const progressForm = creation("AnnotationProgressReq", {
  ...commonRows,
  annotator: annotatorField,
  annotation_state: Type.Enum([...states], {
    description:
      "New state of the item for the annotator: `in_progress`, `completed` or `skipped`. `unstarted` is accepted only if the item already has this state; to give up an item in progress, use the route `release`. A completed or skipped item cannot change its state; reopen it instead.",
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
        description: "Answers to the questions, keyed by the questions' names.",
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
  annotator: Type.String({ description: "Name of the annotator." }),
  annotation_state: [
    Type.Enum([...states], { description: "State of the item for the annotator." }),
    ({ state }) => state,
  ],
  held_until: orNull(time, {
    description: "Time until which the annotator holds the item; null unless the item is in progress.",
  }),
  updated_at: time,
});
/** An item as the API shows it. Its position and its beginnings are null or absent unless the request asked for them. */
type ShownItem = Omit<AnnotationItem, "position"> & {
  readonly position: number | null;
  readonly beginnings?: ItemBeginnings | undefined;
};
export const itemAnswer = answerOf<ShownItem>()("AnnotationItem", {
  id: Type.String(),
  queue_id: Type.String(),
  call_id: Type.String({
    description: "Id of the item's call; for an object or op, the last part of its reference.",
  }),
  vendor_ref: Type.String({
    description: "Reference of the item's call, object or op, which the annotators' answers are about.",
  }),
  weave_ref: [Type.String({ description: "Alias of vendor_ref." }), ({ vendorRef }) => vendorRef],
  display_fields: [
    Type.Array(displayField, { description: "Fields of the call that clients should show first." }),
    ({ displayFields }) => displayFields.map(({ jsonPath, label }) => ({ json_path: jsonPath, label })),
  ],
  added_by: Type.String({ description: "Owner of the key that added the item." }),
  annotation_state: [
    Type.Enum([...states], {
      description: "State of the item for the annotator who has progressed furthest.",
    }),
    overallStateOf,
  ],
  annotator_user_id: [
    orNull(Type.String(), {
      description: "Name of the annotator who has progressed furthest; null if nobody has started.",
    }),
    (item) => {
      const state = overallStateOf(item);
      return item.annotations.find((one) => one.state === state)?.annotator ?? null;
    },
  ],
  annotations: [
    Type.Array(annotationAnswer.schema, {
      description: "State of the item for each annotator who has started it.",
    }),
    ({ annotations }) => annotations.map(annotationAnswer.body),
  ],
  created_at: time,
  updated_at: [
    time,
    ({ createdAt, annotations }) =>
      new Date(Math.max(...[createdAt, ...annotations.map((one) => one.updatedAt)].map(Number))),
  ],
  deleted_at: [orNull(time), () => null],
  position_in_queue: [
    orNull(Type.Integer({ minimum: 1 }), {
      description: "Position in the queue, from 1; null if it was not requested.",
    }),
    ({ position }) => position,
  ],
  prompt: [
    orNull(Type.String(), {
      description:
        "Beginning of the last user message. Null if it was not requested, or if this server did not record the call.",
    }),
    ({ beginnings }) => beginnings?.prompt ?? null,
  ],
  answer: [
    orNull(Type.String(), {
      description:
        "Beginning of the answer to judge, or of the first choice. Null if it was not requested, or if this server did not record the call.",
    }),
    ({ beginnings }) => beginnings?.answer ?? null,
  ],
});
const contentAnswer = answerOf<ItemContent>()("AnnotationItemContent", {
  messages: Type.Array(Type.Object({ role: Type.String(), text: Type.String() }), {
    description: "Messages of the prompt, oldest first.",
  }),
  answers: [
    Type.Array(
      Type.Object({
        text: Type.String(),
        reasoning: Type.String({ description: "The model's thoughts; empty if there are none." }),
        calls: Type.Array(Type.Object({ name: Type.String(), arguments: Type.String() }), {
          description: "Tool calls of the answer.",
        }),
      }),
      {
        description:
          "Answers to judge: the choice that the item refers to, or all choices of the completion.",
      },
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
  added_count: Type.Integer({ minimum: 0, description: "Number of items added." }),
  duplicates: Type.Integer({
    minimum: 0,
    description:
      "Number of items that were not added because the queue already had them, or because they were given twice.",
  }),
});
export const claimAnswer = answerOf<ClaimedItem>()(null, {
  item: [
    orNull(itemAnswer.schema, { description: "The claimed item; null if no item is available now." }),
    ({ item }) => (item === null ? null : itemAnswer.body(item)),
  ],
  content: [
    orNull(contentAnswer.schema, {
      description: "Content of the item's call; null if the call is not recorded on this server.",
    }),
    ({ content }) => (content === null ? null : contentAnswer.body(content)),
  ],
  annotator: Type.String({ description: "Name of the annotator." }),
  remaining: Type.Object({
    open: Type.Integer({
      minimum: 0,
      description: "Number of items that the annotator has left to do, including the item in this answer.",
    }),
    held: Type.Integer({
      minimum: 0,
      description: "Number of items counted in `open` that other annotators hold now, and may still release.",
    }),
  }),
});
export const answeredItemSchema = Type.Object({
  item: itemAnswer.schema,
  feedback: Type.Array(Type.Object(contentSchema, { title: "FeedbackRecord" }), {
    description: "The feedback records that store the annotator's answers.",
  }),
});
