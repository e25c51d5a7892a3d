// Routes that report retention limits, stored sizes and removals, and let administrators run a sweep.
import type { FastifyInstance } from "fastify";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import {
  removedAnswer,
  retentionBody,
  retentionQuerySchema,
  retentionSchema,
  sweepAnswerSchema,
  sweepForm,
} from "../../../wire/retention/retention.ts";
import { adminOnly } from "../../credentials/admin-only.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { resolveEntity } from "../keys/resolve-entity.ts";

/** Maximum number of removals in a report. */
const removedMax = 1000;

/**
 * Time in seconds that a requested sweep spends on data of each kind. If data remains after that, automatic sweeps
 * remove it later.
 */
const kindSeconds = 5;

export function retentionRoutes(app: FastifyInstance, { retention, room }: HttpDependencies): void {
  const { store, sweeper, policies } = retention;
  const on = endpoints(app, { tag: "retention", scheme: "bearer" });
  on(
    "GET /v1/preview/retention",
    {
      summary: "Read the retention limits, stored sizes and removals",
      description:
        "A member's key reports its own entity; an admin key reports all entities, or one of them.",
      query: retentionQuerySchema,
      answer:
        "The retention limits, the size of the stored data, and the amount of data removed on each day.",
      json: retentionSchema,
    },
    async ({ query, caller }) => {
      const entity = resolveEntity(caller, query.entity);
      const quota = entity === null ? null : room.quotaOf(entity);
      const removed = await store.removed(entity, removedMax);
      return retentionBody(policies, await store.stored(entity), quota, removed);
    },
  );
  on(
    "POST /v1/preview/retention/sweep",
    {
      summary: "Remove data beyond the retention limits now",
      description:
        "Requires an admin key. The server removes such data automatically every minute. This request removes it immediately and reports the removed data. With `dry_run` it removes nothing, and reports the data that it would remove.",
      body: sweepForm,
      answer: "The data removed, by kind and entity.",
      json: sweepAnswerSchema,
      options: adminOnly(
        "Only administrators can run a sweep; this key is a member's. The server also sweeps automatically.",
      ),
    },
    async ({ body: { dryRun: isDry } }) => {
      const report = await sweeper.sweep({ isDry, kindSeconds });
      if (report === null) throw sweepInProgress();
      return {
        dry_run: isDry,
        removed: report.removed.map(removedAnswer.body),
        is_complete: report.isComplete,
      };
    },
  );
}

function sweepInProgress(): ServiceError {
  const message = "Another server is running a sweep now. Try again in a minute.";
  return new ServiceError({ code: "conflict", message });
}
