// Recorded completions: lists of them, each whole with what was said of it, and deleting one.
import type { FastifyInstance } from "fastify";
import {
  callQuerySchema,
  noPlace,
  numberIn,
  outlinePageBody,
  outlinePageSchema,
  recordedQuerySchema,
} from "../../../wire/recordings/outlines.ts";
import { deletedSchema, recordedSchema, recordedText } from "../../../wire/recordings/recorded-body.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { readQuery } from "../../input/query.ts";
import { sendPieces } from "../../patient-answer.ts";
import { readsPage } from "../../reading/stored-reads.ts";
import { type CallPath, deleteCompletion, filterOf, missing, reachCompletion } from "./reach-completions.ts";

const documented = { tags: ["recordings"], security: [{ bearer: [] }] };

const callParameters = {
  type: "object",
  properties: {
    request_id: { type: "string", description: "Of the answer, with or without `chatcmpl-` before it." },
  },
} as const;

export function recordingRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { completions, settings } = dependencies;
  app.get(
    "/v1/preview/completions",
    {
      ...readsPage,
      schema: {
        summary: "List recorded completions",
        querystring: recordedQuerySchema,
        response: answered(
          "A page of what lists say of each: the newest first unless asked. One that looked at a hundred thousand and found few has fewer, and more to come.",
          { json: outlinePageSchema },
        ),
        ...documented,
      },
    },
    async (request, reply) => {
      const query = readQuery(recordedQuerySchema, request, reply);
      const filter = await filterOf(dependencies, request, query);
      const page = {
        after: numberAfter(query.after),
        limit: query.limit ?? 20,
        order: query.order ?? "desc",
      };
      return outlinePageBody(await completions.list(filter, page));
    },
  );
  app.get<CallPath>(
    "/v1/preview/completions/:request_id",
    {
      ...readsPage,
      schema: {
        summary: "Read a recorded completion",
        params: callParameters,
        querystring: callQuerySchema,
        response: answered("All that is recorded of it, and what feedback there is on it.", {
          json: recordedSchema,
        }),
        ...documented,
      },
    },
    async (request, reply) => {
      const listed = await reachCompletion(dependencies, request, reply);
      const stored = await completions.find(listed);
      if (stored === null) throw missing(request.params.request_id);
      const feedback = await completions.feedbackOn(listed, feedbackMax);
      reply.type("application/json; charset=utf-8");
      return sendPieces(reply, recordedText(stored, feedback), settings);
    },
  );
  app.delete<CallPath>(
    "/v1/preview/completions/:request_id",
    {
      schema: {
        summary: "Delete a recorded completion",
        params: callParameters,
        querystring: callQuerySchema,
        response: answered("It is gone; feedback on it stays.", { json: deletedSchema }),
        ...documented,
      },
    },
    (request, reply) => deleteCompletion(dependencies, request, reply),
  );
}

/** Records that are named with a completion. */
const feedbackMax = 1000;

function numberAfter(after: string | undefined): number | null {
  // An empty cursor is what clients send back from an empty page.
  if (after === undefined || after === "") return null;
  const number = numberIn(after);
  if (number !== null) return number;
  throw noPlace(after);
}
