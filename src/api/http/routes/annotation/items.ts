// Items of annotation queues, and what annotators do with them: claiming, answering, skipping, and taking that back.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { WirePlaces } from "../../../wire/places.ts";
import { inRequest, ofQueue, sliceOf } from "../../../wire/annotation/fields.ts";
import {
  addedItemsSchema,
  answeredItemSchema,
  answerForm,
  claimAnswerSchema,
  claimBody,
  claimForm,
  itemAnswerSchema,
  itemBody,
  itemOrderNames,
  itemsAddForm,
  itemsAnswerSchema,
  itemsQueryForm,
  progressForm,
  releaseForm,
  reopenForm,
  toAnswers,
  toItemFilter,
  toItemsToAdd,
} from "../../../wire/annotation/items.ts";
import { contentBody } from "../../../wire/feedback/feedback.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { readBody } from "../../input/read-body.ts";
import { readsPage } from "../../reading/stored-reads.ts";
import { documented, queueParameters, type QueuePath } from "./queues.ts";

const path = "/annotation_queues/:queue_id";

interface ItemPath {
  Params: { queue_id: string; item_id: string };
}

const itemParameters = {
  type: "object",
  properties: { ...queueParameters.properties, item_id: { type: "string", description: "The item's id." } },
} as const;

export function itemRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { annotation, feedback } = dependencies;
  app.post<QueuePath>(
    `${path}/items`,
    {
      schema: documented({
        summary: "Add items to a queue",
        params: queueParameters,
        body: itemsAddForm.schema,
        response: answered("How many were new.", { json: addedItemsSchema }),
      }),
    },
    async (request, reply) => {
      const body = readBody(itemsAddForm, request, reply);
      const added = annotation.addItems(
        queueNamed(request, body),
        toItemsToAdd(body, feedback.queryLimits),
        request.caller,
      );
      const { addedCount, duplicateCount } = await added.catch(inRequest(ofQueue));
      return { added_count: addedCount, duplicates: duplicateCount };
    },
  );
  app.post<QueuePath>(
    `${path}/items/query`,
    {
      ...readsPage,
      schema: documented({
        summary: "List the items of a queue",
        params: queueParameters,
        body: itemsQueryForm.schema,
        response: answered("A part of them.", { json: itemsAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const body = readBody(itemsQueryForm, request, reply);
      const slice = sliceOf(body, itemOrderNames);
      const items = await annotation
        .listItems(queueNamed(request, body), toItemFilter(body), slice, request.caller)
        .catch(inRequest(ofQueue));
      return { items: items.map((item) => itemBody(item, body.include_position ?? true)) };
    },
  );
  app.post<QueuePath>(
    `${path}/claim`,
    {
      schema: documented({
        summary: "Claim the next item of a queue",
        description:
          "Gives an annotator the next item to answer, or the one that the annotator holds, and holds it: nobody else is given it until it is answered, skipped or released, or the time is over.",
        params: queueParameters,
        body: claimForm.schema,
        response: answered("The item, and how many there are to do.", { json: claimAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const {
        annotator = null,
        hold_seconds: holdSeconds = null,
        ...body
      } = readBody(claimForm, request, reply);
      const claimed = annotation.claim(queueNamed(request, body), { annotator, holdSeconds }, request.caller);
      return claimBody(await claimed.catch(inRequest(ofQueue)));
    },
  );
  annotatingRoutes(app, dependencies);
}

function annotatingRoutes(app: FastifyInstance, { annotation }: HttpDependencies): void {
  const item = `${path}/items/:item_id`;
  app.post<ItemPath>(
    `${item}/progress`,
    {
      schema: documented({
        summary: "Say how far an annotator is with an item",
        params: itemParameters,
        body: progressForm.schema,
        response: answered("The item.", { json: itemAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const body = readBody(progressForm, request, reply);
      const { annotator = null, annotation_state: state, hold_seconds: holdSeconds = null } = body;
      const moved = annotation.progress(
        itemNamed(request, body),
        { annotator, state, holdSeconds },
        request.caller,
      );
      return { item: itemBody(await moved.catch(inRequest(ofItem))) };
    },
  );
  app.post<ItemPath>(
    `${item}/answers`,
    {
      schema: documented({
        summary: "Answer the questions on an item",
        description:
          "Stores the answers as feedback, in place of those that the annotator gave before, and completes the item.",
        params: itemParameters,
        body: answerForm.schema,
        response: answered("The item and the feedback.", { json: answeredItemSchema }),
      }),
    },
    async (request, reply) => {
      const body = readBody(answerForm, request, reply);
      const answer = { annotator: body.annotator ?? null, answers: toAnswers(body) };
      const given = annotation.answer(itemNamed(request, body), answer, request.caller);
      const { item: completed, feedback } = await given.catch(inRequest(ofItem));
      return { item: itemBody(completed), feedback: feedback.map(contentBody) };
    },
  );
  app.post<ItemPath>(
    `${item}/reopen`,
    {
      schema: documented({
        summary: "Take back what an annotator said of an item",
        description: "Removes the answers, or that it was skipped, and holds the item for the annotator.",
        params: itemParameters,
        body: reopenForm.schema,
        response: answered("The item.", { json: claimAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const {
        annotator = null,
        hold_seconds: holdSeconds = null,
        ...body
      } = readBody(reopenForm, request, reply);
      const opened = annotation.reopen(itemNamed(request, body), { annotator, holdSeconds }, request.caller);
      return claimBody(await opened.catch(inRequest(ofItem)));
    },
  );
  app.post<ItemPath>(
    `${item}/release`,
    {
      schema: documented({
        summary: "Give back an item that an annotator holds",
        params: itemParameters,
        body: releaseForm.schema,
        response: answered("The item.", { json: itemAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const body = readBody(releaseForm, request, reply);
      const released = annotation.release(itemNamed(request, body), body.annotator ?? null, request.caller);
      return { item: itemBody(await released.catch(inRequest(ofItem))) };
    },
  );
}

const ofItem: WirePlaces = { not_found: ["path"] };

function queueNamed(
  { params }: FastifyRequest<QueuePath>,
  { project_id: projectId }: { readonly project_id: string },
) {
  return { projectId, queueId: params.queue_id };
}

function itemNamed(
  { params }: FastifyRequest<ItemPath>,
  { project_id: projectId }: { readonly project_id: string },
) {
  return { projectId, queueId: params.queue_id, itemId: params.item_id };
}
