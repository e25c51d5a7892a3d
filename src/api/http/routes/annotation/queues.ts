// Annotation queues: making, finding, changing and deleting them, and how much of them is done.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ObjectSchema } from "../../../wire/checked.ts";
import { agreementBody, agreementSchema } from "../../../wire/annotation/agreement.ts";
import { inRequest, ofQueue, sliceOf } from "../../../wire/annotation/fields.ts";
import {
  createdQueueSchema,
  orderNames,
  queueAnswerSchema,
  queueBody,
  queueCreateForm,
  queueDeletionSchema,
  queueProjectSchema,
  queueQueryForm,
  queueStatsBody,
  queueStatsForm,
  queueStatsSchema,
  queueUpdateForm,
  toQueueChange,
  toQueueContent,
} from "../../../wire/annotation/queues.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { readBody } from "../../input/read-body.ts";
import { readQuery } from "../../input/query.ts";
import { readsPage } from "../../reading/stored-reads.ts";

const path = "/annotation_queues";

/** A route's schema, under the heading and with the credentials of all of them. */
export function documented<Schema extends object>(schema: Schema) {
  return { ...schema, tags: ["annotation"], security: [{ basic: [] }] };
}

export interface QueuePath {
  Params: { queue_id: string };
}

export const queueParameters = {
  type: "object",
  properties: { queue_id: { type: "string", description: "The queue's id." } },
} as const;

const body = ({ schema }: { readonly schema: ObjectSchema }) => ({ body: schema });

export function queueRoutes(app: FastifyInstance, { annotation }: HttpDependencies): void {
  app.post(
    path,
    {
      schema: documented({
        summary: "Make an annotation queue",
        ...body(queueCreateForm),
        response: answered("Its id.", { json: createdQueueSchema }),
      }),
    },
    async (request, reply) => {
      const created = readBody(queueCreateForm, request, reply);
      const queue = annotation.create(created.project_id, toQueueContent(created), request.caller);
      return { id: (await queue.catch(inRequest({}))).id };
    },
  );
  app.post(
    `${path}/query`,
    {
      ...readsPage,
      schema: documented({
        summary: "List annotation queues",
        ...body(queueQueryForm),
        response: answered("A queue a line, as JSON.", { lines: { type: "string" } }),
      }),
    },
    async (request, reply) => {
      const query = readBody(queueQueryForm, request, reply);
      const filter = { name: query.name ?? null };
      const slice = sliceOf(query, orderNames);
      const queues = await annotation
        .list(query.project_id, filter, slice, request.caller)
        .catch(inRequest({}));
      reply.type("application/jsonl; charset=utf-8");
      return queues.map((queue) => `${JSON.stringify(queueBody(queue))}\n`).join("");
    },
  );
  app.post(
    `${path}/stats`,
    {
      schema: documented({
        summary: "How much of annotation queues is done",
        ...body(queueStatsForm),
        response: answered("Of each queue that there is.", { json: queueStatsSchema }),
      }),
    },
    async (request, reply) => {
      const { project_id: projectId, queue_ids: ids } = readBody(queueStatsForm, request, reply);
      return queueStatsBody(await annotation.stats(projectId, ids, request.caller).catch(inRequest({})));
    },
  );
  app.get<QueuePath>(
    `${path}/:queue_id`,
    {
      schema: documented({
        summary: "Read an annotation queue",
        params: queueParameters,
        querystring: queueProjectSchema,
        response: answered("The queue.", { json: queueAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const { project_id: projectId } = readQuery(queueProjectSchema, request, reply);
      const name = { projectId, queueId: request.params.queue_id };
      const queue = annotation.find(name, request.caller).catch(inRequest(ofQueue, "query"));
      return { queue: queueBody(await queue) };
    },
  );
  app.get<QueuePath>(
    `${path}/:queue_id/agreement`,
    {
      ...readsPage,
      schema: documented({
        summary: "How far the annotators of a queue agree",
        description: "From all feedback that names the queue, by question.",
        params: queueParameters,
        querystring: queueProjectSchema,
        response: answered("Percent agreement, and Cohen's or Fleiss' kappa.", { json: agreementSchema }),
      }),
    },
    async (request, reply) => {
      const { project_id: projectId } = readQuery(queueProjectSchema, request, reply);
      const name = { projectId, queueId: request.params.queue_id };
      const agreement = annotation.agreement(name, request.caller).catch(inRequest(ofQueue, "query"));
      return agreementBody(await agreement);
    },
  );
  app.put<QueuePath>(
    `${path}/:queue_id`,
    {
      schema: documented({
        summary: "Change an annotation queue",
        description: "What is absent stays. Answers to questions that it does not ask any more stay too.",
        params: queueParameters,
        ...body(queueUpdateForm),
        response: answered("The queue.", { json: queueAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const change = readBody(queueUpdateForm, request, reply);
      const name = { projectId: change.project_id, queueId: request.params.queue_id };
      const queue = annotation.update(name, toQueueChange(change), request.caller);
      return { queue: queueBody(await queue.catch(inRequest(ofQueue))) };
    },
  );
  app.delete<QueuePath>(
    `${path}/:queue_id`,
    {
      schema: documented({
        summary: "Delete an annotation queue",
        description: "Feedback that was given in it stays.",
        params: queueParameters,
        querystring: queueDeletionSchema,
        response: answered("The queue.", { json: queueAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const name = { projectId: projectOf(request, reply), queueId: request.params.queue_id };
      const queue = annotation.delete(name, request.caller).catch(inRequest(ofQueue, "query"));
      return { queue: queueBody(await queue) };
    },
  );
}

/** Of a deletion, whose project may stand in its body. */
function projectOf(request: FastifyRequest<QueuePath>, reply: Parameters<typeof readBody>[2]): string {
  const hasBody = typeof request.body === "object" && request.body !== null;
  return hasBody
    ? readBody({ schema: queueProjectSchema }, request, reply).project_id
    : readQuery(queueProjectSchema, request, reply).project_id;
}
