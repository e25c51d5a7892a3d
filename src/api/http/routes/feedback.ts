// Feedback: creating records one by one and in batches, replacing one, reading what was replaced.
import { Readable } from "node:stream";
import type { FastifyInstance, RouteShorthandOptions } from "fastify";
import { present } from "../../../base/domain/assert.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { FeedbackResult } from "../../../base/domain/feedback-query/feedback-query.ts";
import { loopTurns } from "../../../base/domain/sharing/loop-turns.ts";
import type { CreatedBatch } from "../../../judge/feedback/feedback-service.ts";
import { readApart, type BodyReader } from "../bodies/body-reader.ts";
import { newBatchAnswer } from "../../wire/feedback/batch-answer.ts";
import type { ReadFeedbackBatch } from "../../wire/feedback/read-feedback-batch.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { ObjectSchema } from "../../wire/checked.ts";
import { locate } from "../../wire/places.ts";
import { readBody } from "../input/read-body.ts";
import { readsPage } from "../reading/stored-reads.ts";
import { nameIgnored } from "../input/ignored-fields.ts";
import { sendPieces } from "../patient-answer.ts";
import { answered } from "../documentation/document-routes.ts";
import { feedbackPurgeAnswerSchema, feedbackPurgeForm, idsIn } from "../../wire/feedback/feedback-purge.ts";
import {
  feedbackQueryAnswerSchema,
  feedbackQueryBody,
  feedbackQueryForm,
  feedbackRow,
  type QueryBody,
  toFeedbackQuery,
} from "../../wire/feedback/feedback-queries.ts";
import { inBody } from "./feedback/in-body.ts";
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

/** Characters after which a piece of an answer is sent; a record has up to a megabyte. */
const pieceLength = 1 << 16;

/** Records of an answer that is made in one turn. */
const rowsAtOnce = 100;

export function feedbackRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  bodies: BodyReader,
): void {
  const { feedback, settings } = dependencies;
  const queryForm = feedbackQueryForm(feedback.queryLimits);
  const options = (
    summary: string,
    { schema }: { readonly schema: ObjectSchema },
    response: object,
  ): RouteShorthandOptions => ({
    ...readApart,
    bodyLimit: settings.feedbackBodyBytes,
    schema: { summary, body: schema, response, tags: ["feedback"], security: [{ basic: [] }] },
  });
  app.post(
    "/feedback/batch/create",
    options(
      "Create feedback records",
      feedbackBatchForm,
      answered("The records.", { json: feedbackBatchAnswerSchema }),
    ),
    async (request, reply) => {
      const read = await bodies.read("feedback batch", request);
      nameIgnored(reply, read.ignored);
      const created = await feedback.createBatch(read.batch, request.caller).catch(inBody);
      reply.type("application/json; charset=utf-8");
      return reply.send(Readable.from(answerText(created, read, request.caller.entity)));
    },
  );
  app.post(
    "/feedback/create",
    options(
      "Create a feedback record",
      feedbackCreateForm,
      answered("The record.", { json: feedbackSchema }),
    ),
    async (request, reply) => {
      const { value: body, ignored } = await bodies.read("feedback", request);
      nameIgnored(reply, ignored);
      const record = await feedback.create(toFeedbackInput(body), request.caller).catch(inBody);
      return feedbackBody(record, usesOtherSpelling(body));
    },
  );
  app.post(
    "/feedback/replace",
    options(
      "Replace a feedback record",
      feedbackReplaceForm,
      answered("The record.", { json: feedbackSchema }),
    ),
    async (request, reply) => {
      const { value: body, ignored } = await bodies.read("feedback replacement", request);
      nameIgnored(reply, ignored);
      const replaced = feedback.replace(body.feedback_id, toFeedbackInput(body), request.caller);
      return feedbackBody(await replaced.catch(unknownRecord), usesOtherSpelling(body));
    },
  );
  app.post(
    "/feedback/query",
    {
      ...options(
        "Query feedback",
        queryForm,
        answered("The records, and how many there are in all.", { json: feedbackQueryAnswerSchema }),
      ),
      config: readsPage.config,
    },
    async (request, reply) => {
      const body = readBody(queryForm, request, reply);
      const query = toFeedbackQuery(body, feedback.queryLimits);
      const result = await feedback.query(query, request.caller).catch(inBody);
      if (result.items.length <= rowsAtOnce) return feedbackQueryBody(body, result);
      reply.type("application/json; charset=utf-8");
      return sendPieces(reply, queryText(body, result, request.caller.entity), settings);
    },
  );
  app.post(
    "/feedback/purge",
    {
      ...options(
        "Remove feedback records",
        feedbackPurgeForm,
        answered("Those that there were are gone, with their histories.", {
          json: feedbackPurgeAnswerSchema,
        }),
      ),
      config: {},
    },
    async (request, reply) => {
      const body = readBody(feedbackPurgeForm, request, reply);
      const ids = present(idsIn(body.query), "the ids of a checked query");
      await feedback.delete(body.project_id, ids, request.caller).catch(inBody);
      return {};
    },
  );
  app.post(
    "/feedback/history",
    {
      ...options(
        "List what a record said before",
        feedbackHistoryForm,
        answered("A page of revisions.", { json: feedbackHistorySchema }),
      ),
      config: readsPage.config,
    },
    async (request, reply) => {
      const body = readBody(feedbackHistoryForm, request, reply);
      const page = { after: body.after ?? null, limit: body.limit ?? 100, order: "asc" } as const;
      const revisions = await feedback
        .history(body.project_id, body.feedback_id, page, request.caller)
        .catch(unknownRecord);
      return { result: revisions.items.map(revisionBody), has_more: revisions.hasMore };
    },
  );
}

/** The text of {@link feedbackQueryBody} in pieces, with turns for others in between. */
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

function unknownRecord(error: unknown): never {
  return inBody(locate(error, { not_found: ["feedback_id"] }));
}

/** The answer's JSON in pieces: it repeats every payload. */
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

/** Waits for the tenant's turn after each piece. */
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

/** The JSON of a list's items, with commas in between. */
function* listPieces<Item>(
  items: readonly Item[],
  bodyOf: (item: Item, index: number) => object,
): Generator<string, void> {
  let piece = "";
  for (const [index, item] of items.entries()) {
    piece += `${index === 0 ? "" : ","}${JSON.stringify(bodyOf(item, index))}`;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
  }
  yield piece;
}
