// Annotation queues in the API, as in Weave, with additional questions that belong to the queue.
import { Type, type Static } from "typebox";
import type { Question } from "../../../base/domain/annotation/question.ts";
import { queueFields } from "../../../base/domain/annotation/queue.ts";
import type { QueueStats } from "../../../base/domain/annotation/annotation-store.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { AskedQuestion } from "../../../judge/annotation/asked-questions.ts";
import type { ShownQueue } from "../../../judge/annotation/reach-queue.ts";
import {
  alteration,
  answerOf,
  creationRows,
  changeRows,
  creation,
  readBy,
  shown,
} from "../fields/resource.ts";
import { nullable, orNull } from "../nullable.ts";
import { commonRows, projectId, sliceFields } from "./fields.ts";

const ownQuestion = Type.Object(
  {
    name: Type.String({ description: "Name under which answers are stored; unique in the queue." }),
    text: nullable(Type.String(), { description: "Text shown to annotators.", "x-default": "the name" }),
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
      description: "True if an item is complete without an answer to the question.",
    }),
  },
  { title: "AnnotationQuestion" },
);

const questionsSchema = nullable(Type.Array(ownQuestion, { maxItems: 50 }), {
  default: [],
  description: queueFields.questions.about,
});

function toQuestion({ name, text, schema, optional }: Static<typeof ownQuestion>): Question {
  // Safe cast: parsed from JSON.
  return { name, text: text ?? name, schema: schema as JsonObject, isOptional: optional ?? false };
}

const questions = readBy(questionsSchema, (sent) => sent.map(toQuestion), []);

export const queueCreateForm = creation("AnnotationQueueCreateReq", {
  ...commonRows,
  ...creationRows(queueFields),
  questions,
});
export const queueUpdateForm = alteration(
  "AnnotationQueueUpdateReq",
  { ...commonRows, ...changeRows(queueFields, "no change"), questions },
  "no change",
);
export const queueQueryForm = creation("AnnotationQueueQueryReq", {
  ...commonRows,
  name: nullable(Type.String({ maxLength: 256 }), {
    description: "Part of the name, regardless of case.",
  }),
  ...sliceFields(["name", "created_at", "updated_at"], 1000),
});
export const queueStatsForm = creation("AnnotationQueueStatsReq", {
  ...commonRows,
  queue_ids: Type.Array(Type.String(), {
    maxItems: 100,
    description: "Ids of the queues to report.",
  }),
});
export const queueProjectSchema = Type.Object({ project_id: projectId });
/** Query of a deletion; optional, because the project may be in the body instead. */
export const queueDeletionSchema = Type.Partial(queueProjectSchema);

export const orderNames = { name: "name", created_at: "createdAt", updated_at: "updatedAt" } as const;

const anyObject = Type.Object({}, { additionalProperties: true });
const askedAnswer = answerOf<AskedQuestion>()("AskedQuestion", {
  name: Type.String(),
  text: Type.String(),
  optional: [Type.Boolean(), ({ isOptional }) => isOptional],
  spec_ref: orNull(Type.String(), { description: "The spec that the question comes from." }),
  schema: orNull(anyObject, {
    description: "Null if the spec is not stored here; any answer is then accepted.",
  }),
  kind: [
    Type.Enum(["choice", "boolean", "integer", "number", "text", "json"], {
      description: "Type of an answer; `json` if the schema fits no other type.",
    }),
    ({ form }) => form?.kind ?? "json",
  ],
  choices: [
    orNull(Type.Array(Type.Unknown()), { description: "Choices of an `enum`." }),
    ({ form }) => (form?.kind === "choice" ? form.choices : null),
  ],
  minimum: [orNull(Type.Number()), (question) => rangeOf(question)?.minimum ?? null],
  maximum: [orNull(Type.Number()), (question) => rangeOf(question)?.maximum ?? null],
  max_length: [
    orNull(Type.Integer(), { description: "Maximum length of a text in characters." }),
    ({ form }) => (form?.kind === "text" ? form.lengthMax : null),
  ],
});

function rangeOf({ form }: AskedQuestion) {
  return form?.kind === "integer" || form?.kind === "number" ? form : null;
}

// Destructured to show the questions before the number of annotators per item.
const { annotators_per_item: annotatorsPerItem, ...firstRows } = shown(queueFields);
export const queueAnswer = answerOf<ShownQueue>()("AnnotationQueue", {
  id: Type.String(),
  project_id: Type.String(),
  ...firstRows,
  questions: [
    Type.Array(
      Type.Object({ name: Type.String(), text: Type.String(), schema: anyObject, optional: Type.Boolean() }),
      { description: "Questions of the queue itself." },
    ),
    ({ questions: own }) => own.map(({ isOptional: optional, ...question }) => ({ ...question, optional })),
  ],
  asked: [
    Type.Array(askedAnswer.schema, { description: "All questions, those of specs first." }),
    (queue) => queue.asked.map(askedAnswer.body),
  ],
  annotators_per_item: annotatorsPerItem,
  created_at: Type.String({ format: "date-time" }),
  created_by: Type.String({ description: "Owner of the key that created the queue." }),
  updated_at: Type.String({ format: "date-time" }),
  deleted_at: orNull(Type.String({ format: "date-time" })),
});
export const createdQueueSchema = Type.Object({ id: Type.String() });
export const queueAnswerSchema = Type.Object({ queue: queueAnswer.schema });

const countSchema = Type.Integer({ minimum: 0 });
const annotatorCounts = answerOf<QueueStats["annotators"][number]>()(null, {
  annotator: Type.String(),
  completed: countSchema,
  skipped: countSchema,
  in_progress: countSchema,
});
const statsAnswer = answerOf<QueueStats>()("AnnotationQueueStats", {
  queue_id: Type.String(),
  total_items: countSchema,
  completed_items: Type.Integer({
    minimum: 0,
    description: "Items completed by as many annotators as the queue requires.",
  }),
  annotators: [
    Type.Array(annotatorCounts.schema, { description: "Each annotator who has begun." }),
    ({ annotators }) => annotators.map(annotatorCounts.body),
  ],
});
export const queueStatsAnswer = answerOf<{ readonly stats: readonly QueueStats[] }>()(null, {
  stats: [
    Type.Array(statsAnswer.schema, {
      description: "One entry for each queue that exists, in the order requested.",
    }),
    ({ stats }) => stats.map(statsAnswer.body),
  ],
});
