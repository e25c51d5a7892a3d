// Feedback: creating records one by one and in batches, replacing one, reading what was replaced.
import type { FastifyInstance, RouteShorthandOptions } from "fastify";
import type { TObject } from "typebox";
import { ServiceError } from "../../domain/service-error.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { locate } from "../errors.ts";
import { readBody } from "../input/body.ts";
import { isObject } from "../../validation/findings.ts";
import {
  feedbackBatchForm,
  feedbackBody,
  feedbackCreateForm,
  feedbackHistoryForm,
  feedbackReplaceForm,
  revisionBody,
  toFeedbackInput,
  usesOtherSpelling,
} from "../wire/feedback.ts";

export function feedbackRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { feedback, settings } = dependencies;
  const options = (summary: string, { schema }: { readonly schema: TObject }): RouteShorthandOptions => ({
    bodyLimit: settings.feedbackBodyBytes,
    schema: { summary, body: schema, tags: ["feedback"], security: [{ basic: [] }] },
  });
  app.post(
    "/feedback/batch/create",
    options("Create feedback records", feedbackBatchForm),
    async (request, reply) => {
      refuseLongBatch(request.body, settings.feedbackBatchRecords);
      const { batch } = readBody(feedbackBatchForm, request, reply);
      const records = await feedback.createBatch(batch.map(toFeedbackInput), request.caller);
      return {
        res: records.map((record, index) => {
          const sent = batch[index];
          return feedbackBody(record, sent !== undefined && usesOtherSpelling(sent));
        }),
      };
    },
  );
  app.post(
    "/feedback/create",
    options("Create a feedback record", feedbackCreateForm),
    async (request, reply) => {
      const body = readBody(feedbackCreateForm, request, reply);
      const record = await feedback.create(toFeedbackInput(body), request.caller);
      return feedbackBody(record, usesOtherSpelling(body));
    },
  );
  app.post(
    "/feedback/replace",
    options("Replace a feedback record", feedbackReplaceForm),
    async (request, reply) => {
      const body = readBody(feedbackReplaceForm, request, reply);
      const replaced = feedback.replace(body.feedback_id, toFeedbackInput(body), request.caller);
      return feedbackBody(await replaced.catch(unknownRecord), usesOtherSpelling(body));
    },
  );
  app.post(
    "/feedback/history",
    options("What a record said before", feedbackHistoryForm),
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

function unknownRecord(error: unknown): never {
  throw locate(error, { not_found: ["body", "feedback_id"], after: ["body", "after"] });
}

/** Before the records are looked at: after a fault in one of them clients would throw all away, not send halves. */
function refuseLongBatch(body: unknown, countMax: number): void {
  const batch = isObject(body) ? body["batch"] : undefined;
  if (!Array.isArray(batch) || batch.length <= countMax) return;
  const message = `The batch has ${batch.length} records; at most ${countMax} are taken at once. Send halves.`;
  const faults = [{ location: ["body", "batch"], message, type: "too_long" }];
  throw new ServiceError({ code: "too_large", faults });
}
