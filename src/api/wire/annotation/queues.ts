// API format of annotation queues: Weave's format, with the addition of questions that are defined in the queue itself.
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
    name: Type.String({
      description: "Name of the question, unique in the queue. Answers are stored under this name.",
    }),
    text: nullable(Type.String(), {
      description: "Question as shown to annotators.",
      "x-default": "the name",
    }),
    schema: Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          "JSON Schema of an answer: an `enum`, or a `type` that is `boolean`, `integer`, `number` or `string`.",
        examples: [{ enum: ["good", "bad"] }],
      },
    ),
    optional: nullable(Type.Boolean(), {
      default: false,
      description: "True if an item can be completed without an answer to this question.",
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
    description: "Only queues whose name contains this string, regardless of case.",
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
/** Query of a request that deletes a queue. All fields are optional, because the project may be in the body instead. */
export const queueDeletionSchema = Type.Partial(queueProjectSchema);

export const orderNames = { name: "name", created_at: "createdAt", updated_at: "updatedAt" } as const;

const anyObject = Type.Object({}, { additionalProperties: true });
const askedAnswer = answerOf<AskedQuestion>()("AskedQuestion", {
  name: Type.String(),
  text: Type.String(),
  optional: [Type.Boolean(), ({ isOptional }) => isOptional],
  spec_ref: orNull(Type.String(), {
    description:
      "Reference of the annotation spec that the question comes from; null for a question of the queue itself.",
  }),
  schema: orNull(anyObject, {
    description:
      "JSON Schema of an answer. Null if the spec is not stored on this server; any answer is then accepted.",
  }),
  kind: [
    Type.Enum(["choice", "boolean", "integer", "number", "text", "json"], {
      description: "Type of an answer. `json` stands for any schema that the other types do not cover.",
    }),
    ({ form }) => form?.kind ?? "json",
  ],
  choices: [
    orNull(Type.Array(Type.Unknown()), {
      description: "Values to choose from, for type `choice`; null for other types.",
    }),
    ({ form }) => (form?.kind === "choice" ? form.choices : null),
  ],
  minimum: [
    orNull(Type.Number(), { description: "Minimum of a number; null if there is none." }),
    (question) => rangeOf(question)?.minimum ?? null,
  ],
  maximum: [
    orNull(Type.Number(), { description: "Maximum of a number; null if there is none." }),
    (question) => rangeOf(question)?.maximum ?? null,
  ],
  max_length: [
    orNull(Type.Integer(), { description: "Maximum length of a text in characters; null if there is none." }),
    ({ form }) => (form?.kind === "text" ? form.lengthMax : null),
  ],
});

function rangeOf({ form }: AskedQuestion) {
  return form?.kind === "integer" || form?.kind === "number" ? form : null;
}

// This field is separated from the other fields because the answer lists it after the questions.
const { annotators_per_item: annotatorsPerItem, ...firstRows } = shown(queueFields);
export const queueAnswer = answerOf<ShownQueue>()("AnnotationQueue", {
  id: Type.String(),
  project_id: Type.String(),
  ...firstRows,
  questions: [
    Type.Array(
      Type.Object({ name: Type.String(), text: Type.String(), schema: anyObject, optional: Type.Boolean() }),
      { description: "Questions that are defined in the queue itself." },
    ),
    ({ questions: own }) => own.map(({ isOptional: optional, ...question }) => ({ ...question, optional })),
  ],
  asked: [
    Type.Array(askedAnswer.schema, {
      description:
        "All questions that annotators are asked: those of annotation specs, then those of the queue itself.",
    }),
    (queue) => queue.asked.map(askedAnswer.body),
  ],
  annotators_per_item: annotatorsPerItem,
  created_at: Type.String({ format: "date-time" }),
  created_by: Type.String({ description: "Owner of the key that created the queue." }),
  updated_at: Type.String({ format: "date-time" }),
  deleted_at: orNull(Type.String({ format: "date-time" }), {
    description: "Time of deletion; null if the queue exists.",
  }),
});
export const createdQueueSchema = Type.Object({ id: Type.String() });
export const queueAnswerSchema = Type.Object({ queue: queueAnswer.schema });

const counted = (description: string) => Type.Integer({ minimum: 0, description });
const annotatorCounts = answerOf<QueueStats["annotators"][number]>()(null, {
  annotator: Type.String({ description: "Name of the annotator." }),
  completed: counted("Number of items that the annotator completed."),
  skipped: counted("Number of items that the annotator skipped."),
  in_progress: counted("Number of items that are reserved for the annotator now."),
});
const statsAnswer = answerOf<QueueStats>()("AnnotationQueueStats", {
  queue_id: Type.String(),
  total_items: counted("Number of items in the queue."),
  completed_items: Type.Integer({
    minimum: 0,
    description: "Number of completed items, each of which the required number of annotators has completed.",
  }),
  annotators: [
    Type.Array(annotatorCounts.schema, { description: "Counts for each annotator who has started an item." }),
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
