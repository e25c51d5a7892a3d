// The limits that all keys of an entity have together, for administrators.
import type { FastifyInstance } from "fastify";
import {
  entityLimitsForm,
  entityLimitsSchema,
  limitPlaces,
  limitsBody,
  limitsIn,
} from "../../../wire/keys/limits.ts";
import { locate } from "../../../wire/places.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { readBody } from "../../input/read-body.ts";
import { forAdmins } from "./keys.ts";

const documented = { tags: ["keys"], security: [{ bearer: [] }] };
const path = "/v1/preview/entities/:entity/limits";

interface EntityPath {
  Params: { entity: string };
}

const parameters = {
  type: "object",
  properties: { entity: { type: "string", description: "The entity's name." } },
} as const;
const response = answered("Its own limits; null for what the server's settings say.", {
  json: entityLimitsSchema,
});

export function entityLimitRoutes(app: FastifyInstance, { limits }: Pick<HttpDependencies, "limits">): void {
  app.get<EntityPath>(
    path,
    {
      ...forAdmins,
      schema: { summary: "Read an entity's limits", params: parameters, response, ...documented },
    },
    async ({ params: { entity } }) => ({
      entity,
      ...limitsBody(await limits.find(entity).catch(located)),
    }),
  );
  app.post<EntityPath>(
    path,
    {
      ...forAdmins,
      schema: {
        summary: "Change an entity's limits",
        description:
          "They hold for all keys of the entity together, beside those that each has. What is named changes, for requests from then on; null takes a limit away, and the server's settings hold again.",
        params: parameters,
        body: entityLimitsForm.schema,
        response,
        ...documented,
      },
    },
    async (request, reply) => {
      const { entity } = request.params;
      const named = limitsIn(readBody(entityLimitsForm, request, reply));
      return { entity, ...limitsBody(await limits.change(entity, named).catch(located)) };
    },
  );
}

function located(error: unknown): never {
  throw locate(error, { ...limitPlaces, entity: ["path", "entity"] });
}
