// Routes for items of annotation queues and the work of annotators, who claim, answer, skip, reopen and release items.
import type { FastifyInstance } from "fastify";
import { sliceOf } from "../../../wire/annotation/fields.ts";
import {
  addedItemsSchema,
  answeredItemSchema,
  answerForm,
  claimAnswer,
  claimForm,
  itemAnswer,
  itemAnswerSchema,
  itemOrderNames,
  itemsAddForm,
  itemsAnswerSchema,
  itemsQueryForm,
  progressForm,
  releaseForm,
  toItemFilter,
} from "../../../wire/annotation/items.ts";
import { contentBody } from "../../../wire/feedback/feedback.ts";
import { readFilter } from "../../../wire/rewards/feedback-filter.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { readsPage } from "../../memory-budget/stored-reads.ts";

export function itemRoutes(app: FastifyInstance, { annotation, feedback }: HttpDependencies): void {
  const on = endpoints(app, { tag: "annotation", scheme: "basic" });
  on(
    "POST /annotation_queues/:queue_id/items",
    {
      summary: "Add items to a queue",
      body: itemsAddForm,
      answer: "The number of new items.",
      json: addedItemsSchema,
    },
    async ({ params: { queue_id: queueId }, body, caller }) => {
      const { projectId, callIds, feedbackQuery: query, completions: recorded, displayFields } = body;
      const condition = query === null ? null : readFilter(query, feedback.queryLimits, ["feedback_query"]);
      const items = { callIds: callIds ?? [], condition, recorded, displayFields };
      const { addedCount, duplicateCount } = await annotation.addItems({ projectId, queueId }, items, caller);
      return { added_count: addedCount, duplicates: duplicateCount };
    },
  );
  on(
    "POST /annotation_queues/:queue_id/items/query",
    {
      summary: "List the items of a queue",
      body: itemsQueryForm,
      answer: "The items from `offset` on.",
      json: itemsAnswerSchema,
      options: readsPage,
    },
    async ({ params: { queue_id: queueId }, body, caller }) => {
      const { projectId, includePosition, includeBeginnings } = body;
      const slice = sliceOf(body, itemOrderNames);
      const items = await annotation.listItems({ projectId, queueId }, toItemFilter(body), slice, caller);
      const beginnings =
        (includeBeginnings ?? false)
          ? await annotation.findBeginnings(
              projectId,
              items.map(({ vendorRef }) => vendorRef),
              caller,
            )
          : new Map<string, never>();
      const hasPosition = includePosition ?? true;
      const shown = items.map((item) => ({
        ...item,
        position: hasPosition ? item.position : null,
        beginnings: beginnings.get(item.vendorRef),
      }));
      return { items: shown.map(itemAnswer.body) };
    },
  );
  on(
    "POST /annotation_queues/:queue_id/claim",
    {
      summary: "Claim the next item of a queue",
      description:
        "Returns the item that the annotator already holds. If there is none, returns the next item that needs an answer. Reserves the returned item for the annotator: nobody else can claim the item until it is answered, skipped or released, or until the hold expires.",
      body: claimForm,
      answer: "The item, and the number of items that the annotator has left to do.",
      json: claimAnswer.schema,
    },
    async ({ params: { queue_id: queueId }, body: { projectId, ...claim }, caller }) =>
      claimAnswer.body(await annotation.claim({ projectId, queueId }, claim, caller)),
  );
  annotatingRoutes(app, annotation);
}

function annotatingRoutes(app: FastifyInstance, annotation: HttpDependencies["annotation"]): void {
  // If an id in the URL is unknown, the error refers to the whole path, because either the queue or the item may not
  // exist.
  const on = endpoints(app, { tag: "annotation", scheme: "basic", fieldPaths: { not_found: ["path"] } });
  const one = { answer: "The item.", json: itemAnswerSchema };
  on(
    "POST /annotation_queues/:queue_id/items/:item_id/progress",
    { summary: "Update an annotator's progress on an item", body: progressForm, ...one },
    async ({ params, body: { projectId, annotationState: state, ...move }, caller }) => ({
      item: itemAnswer.body(
        await annotation.progress(itemNamed(params, projectId), { ...move, state }, caller),
      ),
    }),
  );
  on(
    "POST /annotation_queues/:queue_id/items/:item_id/answers",
    {
      summary: "Answer the questions on an item",
      description:
        "Stores the answers as feedback on the item, and marks the item as completed by the annotator. The annotator's earlier answers to the item are replaced.",
      body: answerForm,
      answer: "The item, and the feedback records that store the annotator's answers.",
      json: answeredItemSchema,
    },
    async ({ params, body: { projectId, ...answer }, caller }) => {
      const { item, feedback } = await annotation.answer(itemNamed(params, projectId), answer, caller);
      return { item: itemAnswer.body(item), feedback: feedback.map(contentBody) };
    },
  );
  on(
    "POST /annotation_queues/:queue_id/items/:item_id/reopen",
    {
      summary: "Reopen an item for an annotator",
      description:
        "Removes the annotator's answers, or undoes the skip, and reserves the item for the annotator.",
      body: claimForm,
      answer: "The item.",
      json: claimAnswer.schema,
    },
    async ({ params, body: { projectId, ...reopening }, caller }) =>
      claimAnswer.body(await annotation.reopen(itemNamed(params, projectId), reopening, caller)),
  );
  on(
    "POST /annotation_queues/:queue_id/items/:item_id/release",
    { summary: "Release an item that an annotator holds", body: releaseForm, ...one },
    async ({ params, body: { projectId, annotator }, caller }) => ({
      item: itemAnswer.body(await annotation.release(itemNamed(params, projectId), annotator, caller)),
    }),
  );
}

function itemNamed(
  { queue_id: queueId, item_id: itemId }: { readonly queue_id: string; readonly item_id: string },
  projectId: string,
) {
  return { projectId, queueId, itemId };
}
