// Annotation queues on the wire, as clients of Weave know them, with questions of their own beside the specs.
import { Type, type Static } from "typebox";
import type { Question } from "../../../base/domain/annotation/question.ts";
import type { QueueContent } from "../../../base/domain/annotation/queue.ts";
import type { QueueStats } from "../../../base/domain/annotation/annotation-store.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { AskedQuestion } from "../../../judge/annotation/asked-questions.ts";
import type { ShownQueue } from "../../../judge/annotation/reach-queue.ts";
import type { BodyForm } from "../body.ts";
import { nullable, orNull } from "../nullable.ts";
import { commonFields, projectId, sliceFields } from "./fields.ts";

const ownQuestion = Type.Object(
  {
    name: Type.String({ description: "Answers are kept under it; unique in the queue." }),
    text: nullable(Type.String(), { description: "What people read.", "x-default": "the name" }),
    schema: Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          "JSON Schema of an answer: an `enum`, or a type `boolean`, `integer`, `number` or `string`.",
        examples: [{ enum: ["good", "bad"] }],
      },
    ),
    optional: nullable(Type.Boolean(), {
      default: false,
      description: "Whether an item is complete without an answer to it.",
    }),
  },
  { title: "AnnotationQuestion" },
);

const contentFields = {
  description: nullable(Type.String(), { default: "", description: "What the queue is for." }),
  scorer_refs: nullable(Type.Array(Type.String(), { maxItems: 50 }), {
    default: [],
    description: "References of annotation specs, each of which is a question.",
  }),
  questions: nullable(Type.Array(ownQuestion, { maxItems: 50 }), {
    default: [],
    description: "Questions of the queue's own, for which nothing has to be published.",
  }),
  annotators_per_item: nullable(Type.Integer({ minimum: 1, maximum: 20 }), {
    default: 1,
    description: "How many people are to answer each item.",
  }),
};

const createSchema = Type.Object(
  { ...commonFields, name: Type.String({ description: "What people call it." }), ...contentFields },
  { title: "AnnotationQueueCreateReq" },
);
const updateSchema = Type.Object(
  {
    ...commonFields,
    name: nullable(Type.String(), { description: "What people call it." }),
    ...contentFields,
  },
  { title: "AnnotationQueueUpdateReq" },
);
const querySchema = Type.Object(
  {
    ...commonFields,
    name: nullable(Type.String({ maxLength: 256 }), {
      description: "A part of the name, whatever its case.",
    }),
    ...sliceFields(["name", "created_at", "updated_at"], 1000),
  },
  { title: "AnnotationQueueQueryReq" },
);
const statsSchema = Type.Object(
  {
    ...commonFields,
    queue_ids: Type.Array(Type.String(), {
      maxItems: 100,
      description: "Of the queues that are asked about.",
    }),
  },
  { title: "AnnotationQueueStatsReq" },
);

export const queueCreateForm: BodyForm<typeof createSchema> = { schema: createSchema };
export const queueUpdateForm: BodyForm<typeof updateSchema> = { schema: updateSchema };
export const queueQueryForm: BodyForm<typeof querySchema> = { schema: querySchema };
export const queueStatsForm: BodyForm<typeof statsSchema> = { schema: statsSchema };
export const queueProjectSchema = Type.Object({ project_id: projectId });
/** Of a deletion, whose project may stand in its body instead. */
export const queueDeletionSchema = Type.Partial(queueProjectSchema);

export const orderNames = { name: "name", created_at: "createdAt", updated_at: "updatedAt" } as const;

export function toQueueContent(body: Static<typeof createSchema>): QueueContent {
  return {
    name: body.name,
    description: body.description ?? "",
    scorerRefs: body.scorer_refs ?? [],
    questions: (body.questions ?? []).map(toQuestion),
    annotatorsPerItem: body.annotators_per_item ?? 1,
  };
}

/** What is absent stays as it is. */
export function toQueueChange(body: Static<typeof updateSchema>): Partial<QueueContent> {
  const {
    name,
    description,
    scorer_refs: scorerRefs,
    questions,
    annotators_per_item: annotatorsPerItem,
  } = body;
  return {
    ...((name ?? null) === null ? {} : { name: name ?? "" }),
    ...((description ?? null) === null ? {} : { description: description ?? "" }),
    ...((scorerRefs ?? null) === null ? {} : { scorerRefs: scorerRefs ?? [] }),
    ...((questions ?? null) === null ? {} : { questions: (questions ?? []).map(toQuestion) }),
    ...((annotatorsPerItem ?? null) === null ? {} : { annotatorsPerItem: annotatorsPerItem ?? 1 }),
  };
}

function toQuestion({ name, text, schema, optional }: Static<typeof ownQuestion>): Question {
  // It came out of JSON.
  return { name, text: text ?? name, schema: schema as JsonObject, isOptional: optional ?? false };
}

const anyObject = Type.Object({}, { additionalProperties: true });
const askedSchema = Type.Object(
  {
    name: Type.String(),
    text: Type.String(),
    optional: Type.Boolean(),
    spec_ref: orNull(Type.String(), { description: "The spec that asks it." }),
    schema: orNull(anyObject, {
      description: "Null where the spec is not stored here: any answer is taken.",
    }),
    kind: Type.Enum(["choice", "boolean", "integer", "number", "text", "json"], {
      description: "What an answer is; `json` where the schema is of no other kind.",
    }),
    choices: orNull(Type.Array(Type.Unknown()), { description: "Of a choice." }),
    minimum: orNull(Type.Number()),
    maximum: orNull(Type.Number()),
    max_length: orNull(Type.Integer(), { description: "Characters of a text." }),
  },
  { title: "AskedQuestion" },
);

export const queueSchema = Type.Object(
  {
    id: Type.String(),
    project_id: Type.String(),
    name: Type.String(),
    description: Type.String(),
    scorer_refs: Type.Array(Type.String()),
    questions: Type.Array(
      Type.Object({ name: Type.String(), text: Type.String(), schema: anyObject, optional: Type.Boolean() }),
      { description: "The queue's own." },
    ),
    asked: Type.Array(askedSchema, { description: "All questions, those of the specs first." }),
    annotators_per_item: Type.Integer(),
    created_at: Type.String({ format: "date-time" }),
    created_by: Type.String({ description: "The owner of the key that made it." }),
    updated_at: Type.String({ format: "date-time" }),
    deleted_at: orNull(Type.String({ format: "date-time" })),
  },
  { title: "AnnotationQueue" },
);
export const createdQueueSchema = Type.Object({ id: Type.String() });
export const queueAnswerSchema = Type.Object({ queue: queueSchema });

export function queueBody(queue: ShownQueue): object {
  return {
    id: queue.id,
    project_id: queue.projectId,
    name: queue.name,
    description: queue.description,
    scorer_refs: queue.scorerRefs,
    questions: queue.questions.map(({ isOptional: optional, ...question }) => ({ ...question, optional })),
    asked: queue.asked.map(askedBody),
    annotators_per_item: queue.annotatorsPerItem,
    created_at: queue.createdAt.toISOString(),
    created_by: queue.createdBy,
    updated_at: queue.updatedAt.toISOString(),
    deleted_at: queue.deletedAt?.toISOString() ?? null,
  };
}

function askedBody({ name, text, schema, form, isOptional, specRef }: AskedQuestion): object {
  const isRange = form?.kind === "integer" || form?.kind === "number";
  return {
    name,
    text,
    optional: isOptional,
    spec_ref: specRef,
    schema,
    kind: form?.kind ?? "json",
    choices: form?.kind === "choice" ? form.choices : null,
    minimum: isRange ? form.minimum : null,
    maximum: isRange ? form.maximum : null,
    max_length: form?.kind === "text" ? form.lengthMax : null,
  };
}

const countSchema = Type.Integer({ minimum: 0 });
export const queueStatsSchema = Type.Object({
  stats: Type.Array(
    Type.Object(
      {
        queue_id: Type.String(),
        total_items: countSchema,
        completed_items: Type.Integer({
          minimum: 0,
          description: "Those that as many have completed as the queue asks for.",
        }),
        annotators: Type.Array(
          Type.Object({
            annotator: Type.String(),
            completed: countSchema,
            skipped: countSchema,
            in_progress: countSchema,
          }),
          { description: "Everybody who has begun." },
        ),
      },
      { title: "AnnotationQueueStats" },
    ),
    { description: "Of those that there are, in their order." },
  ),
});

export function queueStatsBody(stats: readonly QueueStats[]): object {
  return {
    stats: stats.map(({ queueId, totalItems, completedItems, annotators }) => ({
      queue_id: queueId,
      total_items: totalItems,
      completed_items: completedItems,
      annotators: annotators.map(({ inProgress, ...counts }) => ({ ...counts, in_progress: inProgress })),
    })),
  };
}
