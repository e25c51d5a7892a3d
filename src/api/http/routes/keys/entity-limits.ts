// The limits that all keys of an entity have together, for administrators.
import type { FastifyInstance } from "fastify";
import { entityLimitsAnswer, entityLimitsForm } from "../../../wire/keys/limits.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { forKeyAdmins } from "./keys.ts";

export function entityLimitRoutes(app: FastifyInstance, { limits }: Pick<HttpDependencies, "limits">): void {
  const places = { entity: ["path", "entity"] };
  const on = endpoints(app, { tag: "keys", scheme: "bearer", places, options: forKeyAdmins });
  const one = {
    answer: "Its own limits; null for what the server's settings say.",
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
        "They hold for all keys of the entity together, beside those that each has. What is named changes, for requests from then on; null takes a limit away, and the server's settings hold again.",
      body: entityLimitsForm,
      ...one,
    },
    async ({ params: { entity }, body }) =>
      entityLimitsAnswer.body({ entity, ...(await limits.change(entity, body)) }),
  );
}
