// Feedback: creating records one by one and in batches, replacing one, reading what was replaced.
import type { Static } from "typebox";
import type { FastifyInstance, FastifyReply } from "fastify";
import { ServiceError } from "../../domain/service-error.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { locate } from "../errors.ts";
import { tellIgnored } from "../input/ignored-fields.ts";
import { check, checked, isObject, newFindings, refuseFaults } from "../input/validation.ts";
import {
  checkSpellings,
  feedbackBatchSchema,
  feedbackBody,
  feedbackCreateSchema,
  feedbackHistorySchema,
  feedbackReplaceSchema,
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
    { bodyLimit, schema: { summary: "Create feedback records", body: feedbackBatchSchema, ...documented } },
    async (request, reply) => {
      refuseLongBatch(request.body, settings.feedbackBatchRecords);
      const { batch } = readBatch(request.body, reply);
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
    { bodyLimit, schema: { summary: "Create a feedback record", body: feedbackCreateSchema, ...documented } },
    async (request, reply) => {
      const body = readRecord(feedbackCreateSchema, request.body, reply);
      const record = await feedback.create(toFeedbackInput(body), request.caller);
      return feedbackBody(record, usesOtherSpelling(body));
    },
  );
  app.post(
    "/feedback/replace",
    {
      bodyLimit,
      schema: { summary: "Replace a feedback record", body: feedbackReplaceSchema, ...documented },
    },
    async (request, reply) => {
      const body = readRecord(feedbackReplaceSchema, request.body, reply);
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
      schema: { summary: "What a record said before", body: feedbackHistorySchema, ...documented },
    },
    async (request, reply) => {
      const { value, ignored } = checked(feedbackHistorySchema, request.body, "body");
      tellIgnored(reply, ignored);
      const revisions = await feedback
        .history(value.project_id, value.feedback_id, request.caller)
        .catch(unknownRecord);
      return { result: revisions.map(revisionBody) };
    },
  );
}

function unknownRecord(error: unknown): never {
  throw locate(error, ["not_found"], ["body", "feedback_id"]);
}

function refuseLongBatch(body: unknown, countMax: number): void {
  const batch = isObject(body) ? body["batch"] : undefined;
  if (!Array.isArray(batch) || batch.length <= countMax) return;
  const message = `The batch has ${batch.length} records; at most ${countMax} are taken at once. Send halves.`;
  const faults = [{ location: ["body", "batch"], message, type: "too_long" }];
  throw new ServiceError({ code: "too_large", message, faults });
}

function readBatch(value: unknown, reply: FastifyReply): Static<typeof feedbackBatchSchema> {
  const findings = newFindings("body");
  check(feedbackBatchSchema, value, findings);
  if (isObject(value) && Array.isArray(value["batch"])) {
    value["batch"].forEach((record, index) => checkSpellings(record, findings, "batch", String(index)));
  }
  refuseFaults(findings.faults);
  tellIgnored(reply, [...findings.ignored]);
  // Nothing differs from the schema.
  return value as Static<typeof feedbackBatchSchema>;
}

function readRecord<Schema extends typeof feedbackCreateSchema | typeof feedbackReplaceSchema>(
  schema: Schema,
  value: unknown,
  reply: FastifyReply,
): Static<Schema> {
  const findings = newFindings("body");
  check(schema, value, findings);
  checkSpellings(value, findings);
  refuseFaults(findings.faults);
  tellIgnored(reply, [...findings.ignored]);
  // Nothing differs from the schema.
  return value as Static<Schema>;
}
