// Routes that create, find, change and delete annotation queues, and report their progress.
import type { FastifyInstance } from "fastify";
import { agreementAnswer } from "../../../wire/annotation/agreement.ts";
import { sliceOf } from "../../../wire/annotation/fields.ts";
import {
  createdQueueSchema,
  orderNames,
  queueAnswer,
  queueAnswerSchema,
  queueCreateForm,
  queueDeletionSchema,
  queueProjectSchema,
  queueQueryForm,
  queueStatsAnswer,
  queueStatsForm,
  queueUpdateForm,
} from "../../../wire/annotation/queues.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { readBody, readQuery } from "../../input/read-input.ts";
import { readsPage } from "../../memory-budget/stored-reads.ts";

export function queueRoutes(app: FastifyInstance, { annotation }: HttpDependencies): void {
  const on = endpoints(app, { tag: "annotation", scheme: "basic" });
  const one = { answer: "The queue.", json: queueAnswerSchema };
  on(
    "POST /annotation_queues",
    {
      summary: "Create an annotation queue",
      body: queueCreateForm,
      answer: "The queue's id.",
      json: createdQueueSchema,
    },
    async ({ body: { projectId, ...content }, caller }) => ({
      id: (await annotation.create(projectId, content, caller)).id,
    }),
  );
  on(
    "POST /annotation_queues/query",
    {
      summary: "List annotation queues",
      body: queueQueryForm,
      answer: "One queue per line, as JSON.",
      lines: { type: "string" },
      options: readsPage,
    },
    async ({ body: { projectId, name, ...slice }, caller, reply }) => {
      const queues = await annotation.list(projectId, { name }, sliceOf(slice, orderNames), caller);
      reply.type("application/jsonl; charset=utf-8");
      return queues.map((queue) => `${JSON.stringify(queueAnswer.body(queue))}\n`).join("");
    },
  );
  on(
    "POST /annotation_queues/stats",
    {
      summary: "Count the completed items of annotation queues",
      body: queueStatsForm,
      answer: "Counts for each queue that exists.",
      json: queueStatsAnswer.schema,
    },
    async ({ body: { projectId, queueIds }, caller }) =>
      queueStatsAnswer.body({ stats: await annotation.stats(projectId, queueIds, caller) }),
  );
  on(
    "GET /annotation_queues/:queue_id",
    { summary: "Read an annotation queue", query: queueProjectSchema, ...one },
    async ({ params: { queue_id: queueId }, query: { project_id: projectId }, caller }) => ({
      queue: queueAnswer.body(await annotation.find({ projectId, queueId }, caller)),
    }),
  );
  on(
    "GET /annotation_queues/:queue_id/agreement",
    {
      summary: "Measure agreement between annotators",
      description: "For each question, compares all feedback that has the queue's id as `queue_id`.",
      query: queueProjectSchema,
      answer: "The percent agreement, and Cohen's or Fleiss' kappa, of each question.",
      json: agreementAnswer.schema,
      options: readsPage,
    },
    async ({ params: { queue_id: queueId }, query: { project_id: projectId }, caller }) =>
      agreementAnswer.body({ agreement: await annotation.agreement({ projectId, queueId }, caller) }),
  );
  on(
    "PUT /annotation_queues/:queue_id",
    {
      summary: "Change an annotation queue",
      description: "Fields that are absent keep their values. Answers to removed questions are kept.",
      body: queueUpdateForm,
      ...one,
    },
    async ({ params: { queue_id: queueId }, body: { projectId, ...change }, caller }) => ({
      queue: queueAnswer.body(await annotation.update({ projectId, queueId }, change, caller)),
    }),
  );
  on(
    "DELETE /annotation_queues/:queue_id",
    {
      summary: "Delete an annotation queue",
      description: "Feedback given in the queue is kept.",
      query: queueDeletionSchema,
      ...one,
    },
    async ({ params: { queue_id: queueId }, caller, request, reply }) => {
      // The project may be in the request's body instead of its query.
      const hasBody = typeof request.body === "object" && request.body !== null;
      const { project_id: projectId } = hasBody
        ? readBody({ schema: queueProjectSchema }, request, reply)
        : readQuery(queueProjectSchema, request, reply);
      return { queue: queueAnswer.body(await annotation.delete({ projectId, queueId }, caller)) };
    },
  );
}
