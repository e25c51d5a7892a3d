// Routes that create feedback records singly and in batches, replace, query and purge them, and list their earlier
// revisions.
import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { present } from "../../../base/domain/assert.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { FeedbackResult } from "../../../base/domain/feedback-query/feedback-query.ts";
import { loopTurns } from "../../../base/domain/sharing/loop-turns.ts";
import type { CreatedBatch } from "../../../judge/feedback/feedback-service.ts";
import type { BodyReader } from "../bodies/body-reader.ts";
import { newBatchAnswer } from "../../wire/feedback/batch-answer.ts";
import type { ReadFeedbackBatch } from "../../wire/feedback/read-feedback-batch.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { readsPage } from "../memory-budget/stored-reads.ts";
import { sendPieces } from "../paced-answer.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { feedbackPurgeAnswerSchema, feedbackPurgeForm, idsIn } from "../../wire/feedback/feedback-purge.ts";
import {
  feedbackQueryAnswerSchema,
  feedbackQueryBody,
  feedbackQueryForm,
  feedbackRow,
  type QueryBody,
  toFeedbackQuery,
} from "../../wire/feedback/feedback-queries.ts";
import {
  feedbackBatchAnswerSchema,
  feedbackBatchForm,
  feedbackBody,
  feedbackCreateForm,
  feedbackHistoryForm,
  feedbackHistorySchema,
  feedbackReplaceForm,
  feedbackSchema,
  revisionBody,
  toFeedbackInput,
  usesOtherSpelling,
} from "../../wire/feedback/feedback.ts";

/** Number of characters after which a piece of an answer is sent. A single record may have a megabyte. */
const pieceLength = 1 << 16;

/** Maximum number of records that are written without a pause. In a pause, other requests run. */
const rowsAtOnce = 100;

export function feedbackRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  bodies: BodyReader,
): void {
  const { feedback, settings } = dependencies;
  const on = endpoints(app, {
    tag: "feedback",
    scheme: "basic",
    options: { bodyLimit: settings.feedbackBodyBytes },
  });
  const queryForm = feedbackQueryForm(feedback.queryLimits);
  const unknownRecord = { not_found: ["body", "feedback_id"] };
  on(
    "POST /feedback/batch/create",
    {
      summary: "Create feedback records",
      body: bodies.form("feedback batch", feedbackBatchForm, () => ({ packForm: feedback.packForm })),
      answer: "The records.",
      json: feedbackBatchAnswerSchema,
    },
    async ({ body, caller, reply }) => {
      const created = await feedback.createBatch(body.batch, caller);
      reply.type("application/json; charset=utf-8");
      return reply.send(Readable.from(answerText(created, body, caller.entity)));
    },
  );
  on(
    "POST /feedback/create",
    {
      summary: "Create a feedback record",
      body: bodies.form("feedback", feedbackCreateForm),
      answer: "The record.",
      json: feedbackSchema,
    },
    async ({ body: { value: body }, caller }) =>
      feedbackBody(await feedback.create(toFeedbackInput(body), caller), usesOtherSpelling(body)),
  );
  on(
    "POST /feedback/replace",
    {
      summary: "Replace a feedback record",
      body: bodies.form("feedback replacement", feedbackReplaceForm),
      answer: "The record.",
      json: feedbackSchema,
      fieldPaths: unknownRecord,
    },
    async ({ body: { value: body }, caller }) => {
      const replaced = await feedback.replace(body.feedback_id, toFeedbackInput(body), caller);
      return feedbackBody(replaced, usesOtherSpelling(body));
    },
  );
  on(
    "POST /feedback/query",
    {
      summary: "Query feedback",
      body: queryForm,
      answer: "The records, and the number of all records that match.",
      json: feedbackQueryAnswerSchema,
      options: { ...readsPage, bodyLimit: settings.feedbackBodyBytes },
    },
    async ({ body, caller, reply }) => {
      const result = await feedback.query(toFeedbackQuery(body, feedback.queryLimits), caller);
      if (result.items.length <= rowsAtOnce) return feedbackQueryBody(body, result);
      reply.type("application/json; charset=utf-8");
      return sendPieces(reply, queryText(body, result, caller.entity), settings);
    },
  );
  on(
    "POST /feedback/purge",
    {
      summary: "Remove feedback records",
      body: feedbackPurgeForm,
      answer:
        "The listed records are removed, with their earlier revisions. Ids of records that do not exist are ignored.",
      json: feedbackPurgeAnswerSchema,
    },
    async ({ body, caller }) => {
      const ids = present(idsIn(body.query), "the ids of a checked query");
      await feedback.delete(body.project_id, ids, caller);
      return {};
    },
  );
  on(
    "POST /feedback/history",
    {
      summary: "List earlier revisions of a feedback record",
      body: feedbackHistoryForm,
      answer: "A page of revisions.",
      json: feedbackHistorySchema,
      fieldPaths: unknownRecord,
      options: { ...readsPage, bodyLimit: settings.feedbackBodyBytes },
    },
    async ({ body: { project_id: projectId, feedback_id: id, after = null, limit }, caller }) => {
      const page = { after, limit: limit ?? 100, order: "asc" } as const;
      const { items, hasMore } = await feedback.history(projectId, id, page, caller);
      return { result: items.map(revisionBody), has_more: hasMore };
    },
  );
}

/** Yields the text of {@link feedbackQueryBody} in pieces. Pauses between pieces let other requests run. */
async function* queryText(
  body: QueryBody,
  result: FeedbackResult,
  tenant: string,
): AsyncGenerator<string, void> {
  yield '{"result":[';
  yield* inTurnsOf(
    tenant,
    listPieces(result.items, (record) => feedbackRow(body, record)),
  );
  yield `],"total_count":${result.totalCount}}`;
}

/**
 * Yields the JSON of the answer to a batch. It comes in pieces, because the answer repeats every payload and is
 * therefore long.
 */
function answerText(
  created: CreatedBatch,
  { answers, useOtherSpelling }: ReadFeedbackBatch,
  tenant: string,
): AsyncGenerator<string, void> {
  const pieces =
    created.kind === "new"
      ? newBatchAnswer(answers, created.createdAt)
      : storedBatchAnswer(created.records, useOtherSpelling);
  return inTurnsOf(tenant, pieces);
}

/** Yields the pieces. After each piece, waits for the tenant's next turn. */
async function* inTurnsOf(tenant: string, pieces: Iterable<string>): AsyncGenerator<string, void> {
  for (const piece of pieces) {
    yield piece;
    await loopTurns.next(tenant);
  }
}

function* storedBatchAnswer(
  records: readonly FeedbackRecord[],
  useOtherSpelling: readonly boolean[],
): Generator<string, void> {
  yield '{"res":[';
  yield* listPieces(records, (record, index) => feedbackBody(record, useOtherSpelling[index]));
  yield "]}";
}

/** Yields the JSON of the items in pieces, with commas between the items. */
function* listPieces<Item>(
  items: readonly Item[],
  toItemBody: (item: Item, index: number) => object,
): Generator<string, void> {
  let piece = "";
  for (const [index, item] of items.entries()) {
    piece += `${index === 0 ? "" : ","}${JSON.stringify(toItemBody(item, index))}`;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
  }
  yield piece;
}
