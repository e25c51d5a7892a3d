// What a chat request may name as its model: OpenAI's list, and the names of the base models.
import type { FastifyInstance } from "fastify";
import type { TrainedModel } from "../../domain/model.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { modelName } from "../wire/model.ts";
import { allVersions } from "./model-remains.ts";

export function servedModelRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { models, baseModels, clock } = dependencies;
  const documented = { tags: ["models"], security: [{ bearer: [] }] };
  const startedAt = clock.now();
  app.get(
    "/v1/models",
    { schema: { summary: "List every name that can be chatted with", ...documented } },
    async (request) => {
      const { caller } = request;
      const trained = await models.list({ entity: caller.role === "admin" ? null : caller.entity });
      const data = baseModels.map((name) =>
        card({ id: name, createdAt: startedAt, owner: "hone", root: name, parent: null }),
      );
      for (const model of trained) data.push(...(await trainedCards(dependencies, model)));
      return { object: "list", data };
    },
  );
  app.get(
    "/v1/preview/base-models",
    { schema: { summary: "The names of the base models", ...documented } },
    () => baseModels,
  );
}

/** The model under its own name, which follows the newest version, and each version under its name with the step. */
async function trainedCards({ models }: HttpDependencies, model: TrainedModel): Promise<readonly object[]> {
  const name = modelName(model);
  const parent = model.baseModel;
  const versions = await allVersions(models, model.id);
  return [
    card({ id: name, createdAt: model.createdAt, owner: model.entity, root: name, parent }),
    ...versions.map(({ step, createdAt }) =>
      card({ id: `${name}:step${step}`, createdAt, owner: model.entity, root: name, parent }),
    ),
  ];
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
