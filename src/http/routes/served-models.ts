// What a chat request may name as its model: OpenAI's list, and the names of the base models.
import type { FastifyInstance } from "fastify";
import { fullName } from "../../models/model-name.ts";
import { baseModelsSchema, servedModelListSchema } from "../../wire/model.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";

export function servedModelRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { models, baseModels, clock } = dependencies;
  const documented = { tags: ["models"], security: [{ bearer: [] }] };
  const startedAt = clock.now();
  app.get(
    "/v1/models",
    {
      schema: {
        summary: "List every name that can be chatted with",
        ...documented,
        response: answered("As OpenAI lists models.", { json: servedModelListSchema }),
      },
    },
    async (request) => {
      const data = baseModels.map((name) =>
        card({ id: name, createdAt: startedAt, owner: "hone", root: name, parent: null }),
      );
      for (const { name, model, createdAt } of await models.listServedNames(request.caller)) {
        const root = fullName(model);
        data.push(card({ id: name, createdAt, owner: model.entity, root, parent: model.baseModel }));
      }
      return { object: "list", data };
    },
  );
  app.get(
    "/v1/preview/base-models",
    {
      schema: {
        summary: "List the base models",
        ...documented,
        response: answered("Their names.", { json: baseModelsSchema }),
      },
    },
    () => baseModels,
  );
}

interface Card {
  readonly id: string;
  readonly createdAt: Date;
  readonly owner: string;
  readonly root: string;
  readonly parent: string | null;
}

function card({ id, createdAt, owner, root, parent }: Card): object {
  return {
    id,
    object: "model",
    created: Math.floor(createdAt.getTime() / 1000),
    owned_by: owner,
    root,
    parent,
  };
}
