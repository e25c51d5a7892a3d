// Routes for administrators that read and set the limits that all keys of an entity share.
import type { FastifyInstance } from "fastify";
import { entityLimitsAnswer, entityLimitsForm } from "../../../wire/keys/limits.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { keyAdminOptions } from "./keys.ts";

export function entityLimitRoutes(app: FastifyInstance, { limits }: Pick<HttpDependencies, "limits">): void {
  const fieldPaths = { entity: ["path", "entity"] };
  const on = endpoints(app, { tag: "keys", scheme: "bearer", fieldPaths, options: keyAdminOptions });
  const one = {
    answer: "The limits of the entity. Where a limit is null, the server's settings apply.",
    json: entityLimitsAnswer.schema,
  };
  on(
    "GET /v1/preview/entities/:entity/limits",
    { summary: "Read an entity's limits", ...one },
    async ({ params: { entity } }) => entityLimitsAnswer.body({ entity, ...(await limits.find(entity)) }),
  );
  on(
    "POST /v1/preview/entities/:entity/limits",
    {
      summary: "Change an entity's limits",
      description:
        "The limits apply to all keys of the entity together, in addition to each key's own limits. Limits that are absent do not change. Null removes a limit, so that the server's settings apply again. Changes take effect with the next request.",
      body: entityLimitsForm,
      ...one,
    },
    async ({ params: { entity }, body }) =>
      entityLimitsAnswer.body({ entity, ...(await limits.change(entity, body)) }),
  );
}
