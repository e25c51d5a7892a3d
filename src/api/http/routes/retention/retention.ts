// What does not stay of what is stored: the limits, what there is, what was removed; and for administrators a look at once.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import {
  removedBody,
  retentionBody,
  retentionQuerySchema,
  retentionSchema,
  sweepAnswerSchema,
  sweepForm,
} from "../../../wire/retention/retention.ts";
import { requireAdministrator } from "../../credentials/require-administrator.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { readQuery } from "../../input/query.ts";
import { readBody } from "../../input/read-body.ts";
import { askedEntity } from "../keys/asked-entity.ts";

const documented = { tags: ["retention"], security: [{ bearer: [] }] };
const path = "/v1/preview/retention";

/** Rows of what was removed. */
const removedMax = 1000;

/** Of each kind: what is left then is the server's own to remove. */
const kindSeconds = 5;

export function retentionRoutes(app: FastifyInstance, { retention, room }: HttpDependencies): void {
  const { store, sweeper, policies } = retention;
  app.get(
    path,
    {
      schema: {
        summary: "Read what there is, what stays, and what was removed",
        description: "An entity's own for its keys, everybody's for administrators.",
        querystring: retentionQuerySchema,
        response: answered("The limits with what there is, and what was removed by day.", {
          json: retentionSchema,
        }),
        ...documented,
      },
    },
    async (request, reply) => {
      const query = readQuery(retentionQuerySchema, request, reply);
      const entity = askedEntity(request.caller, query.entity);
      const quota = entity === null ? null : room.quotaOf(entity);
      const removed = await store.removed(entity, removedMax);
      return retentionBody(policies, await store.stored(entity), quota, removed);
    },
  );
  app.post(
    `${path}/sweep`,
    {
      onRequest: async (request) => refuseMember(request),
      schema: {
        summary: "Remove at once what does not stay",
        description:
          "For administrators. The server does so every minute; here it says what it removes, or would remove.",
        body: sweepForm.schema,
        response: answered("What was removed, by kind and entity.", { json: sweepAnswerSchema }),
        ...documented,
      },
    },
    async (request, reply) => {
      const { dry_run: isDry = false } = readBody(sweepForm, request, reply);
      const report = await sweeper.sweep({ isDry: isDry === true, kindSeconds });
      if (report === null) throw othersTurn();
      return {
        dry_run: isDry === true,
        removed: report.removed.map(removedBody),
        is_complete: report.isComplete,
      };
    },
  );
}

function refuseMember(request: FastifyRequest): void {
  requireAdministrator(
    request,
    "What does not stay is removed by administrators, and by the server itself; this key is a member's.",
  );
}

function othersTurn(): ServiceError {
  const message = "Another server removes what does not stay just now. Ask again in a minute.";
  return new ServiceError({ code: "conflict", message });
}
