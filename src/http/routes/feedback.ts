// Feedback: creating records one by one and in batches, replacing one, reading what was replaced.
import type { FastifyInstance } from "fastify";
import { ServiceError } from "../../domain/service-error.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { locate } from "../errors.ts";
import { readBody } from "../input/body.ts";
import { isObject } from "../input/validation.ts";
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

const documented = { tags: ["feedback"], security: [{ basic: [] }] };

export function feedbackRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { feedback, settings } = dependencies;
  const bodyLimit = settings.feedbackBodyBytes;
  app.post(
    "/feedback/batch/create",
    {
      bodyLimit,
      schema: { summary: "Create feedback records", body: feedbackBatchForm.schema, ...documented },
    },
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
    {
      bodyLimit,
      schema: { summary: "Create a feedback record", body: feedbackCreateForm.schema, ...documented },
    },
    async (request, reply) => {
      const body = readBody(feedbackCreateForm, request, reply);
      const record = await feedback.create(toFeedbackInput(body), request.caller);
      return feedbackBody(record, usesOtherSpelling(body));
    },
  );
  app.post(
    "/feedback/replace",
    {
      bodyLimit,
      schema: { summary: "Replace a feedback record", body: feedbackReplaceForm.schema, ...documented },
    },
    async (request, reply) => {
      const body = readBody(feedbackReplaceForm, request, reply);
      const record = await feedback
        .replace(body.feedback_id, toFeedbackInput(body), request.caller)
        .catch(unknownRecord);
      return feedbackBody(record, usesOtherSpelling(body));
    },
  );
  app.post(
    "/feedback/history",
    {
      bodyLimit,
      schema: { summary: "What a record said before", body: feedbackHistoryForm.schema, ...documented },
    },
    async (request, reply) => {
      const value = readBody(feedbackHistoryForm, request, reply);
      const revisions = await feedback
        .history(value.project_id, value.feedback_id, request.caller)
        .catch(unknownRecord);
      return { result: revisions.map(revisionBody) };
    },
  );
}

function unknownRecord(error: unknown): never {
  throw locate(error, { not_found: ["body", "feedback_id"] });
}

/** Before the records are looked at: after a fault in one of them clients would throw all away, not send halves. */
function refuseLongBatch(body: unknown, countMax: number): void {
  const batch = isObject(body) ? body["batch"] : undefined;
  if (!Array.isArray(batch) || batch.length <= countMax) return;
  const message = `The batch has ${batch.length} records; at most ${countMax} are taken at once. Send halves.`;
  const faults = [{ location: ["body", "batch"], message, type: "too_long" }];
  throw new ServiceError({ code: "too_large", message, faults });
}
