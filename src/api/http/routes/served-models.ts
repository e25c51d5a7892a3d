// Routes for the model names that a chat request accepts: a list of all names and an entry for each, in OpenAI's or
// Anthropic's form, the names of the base models, and deletion by name.
import type { FastifyInstance } from "fastify";
import type { Caller } from "../../../base/domain/access.ts";
import { adapterOfServer } from "../../../base/domain/model.ts";
import { notFound } from "../../../base/domain/service-error.ts";
import { fullName, parseModelName } from "../../../inference/models/registry/model-name.ts";
import type { ServedName } from "../../../inference/models/registry/model-service.ts";
import {
  modelInfo,
  modelInfoPage,
  modelListQuerySchema,
  type NamedModel,
} from "../../wire/messages/model-list.ts";
import {
  baseModelsSchema,
  modelDeletionSchema,
  type ServedModel,
  servedModelAnswer,
  servedModelListSchema,
} from "../../wire/models/served-model.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { isAnthropics } from "../anthropic/dialect.ts";
import { deleteNamedModel } from "./delete-named-model.ts";

/** Documentation of the wildcard in the routes' path, under the name `model`. */
const nameParameter = {
  type: "object",
  properties: {
    model: {
      type: "string",
      description: "Any name that a chat request accepts as `model`, including slashes and versions.",
    },
  },
} as const;

export function servedModelRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { models, baseModels, clock, prices } = dependencies;
  const startedAt = clock.now();
  const ofBase = (base: string): Pick<ServedModel, "base" | "prices"> => {
    const [priced, { currency }] = [prices.of(base), prices];
    return {
      base: baseModels().find(({ name }) => name === base) ?? null,
      prices: priced === null || currency === null ? null : { ...priced, currency },
    };
  };
  const served = (id: string, base: string): ServedModel => ({
    id,
    createdAt: startedAt,
    owner: "hone",
    root: base,
    parent: null,
    adapter: adapterOfServer,
    ...ofBase(base),
  });
  const trained = ({ name, model, createdAt }: ServedName): ServedModel => ({
    id: name,
    createdAt,
    owner: model.entity,
    root: fullName(model),
    parent: model.baseModel,
    adapter: model.adapter,
    ...ofBase(model.baseModel),
  });
  const on = endpoints(app, { tag: "models", scheme: "bearer" });
  on(
    "GET /v1/models",
    {
      summary: "List all model names that chat requests accept",
      description:
        "With the header `anthropic-version` the answer is a page in the form of Anthropic's API. The parameters `search` and `limit` also apply to OpenAI's form.",
      query: modelListQuerySchema,
      answer: "The models, in OpenAI's form.",
      json: servedModelListSchema,
    },
    async ({ caller, request, query }) => {
      const { search: text, limit } = query;
      const isOpenAis = !isAnthropics(request);
      const bases = baseModels()
        .filter(({ name }) => text === undefined || name.toLowerCase().includes(text.toLowerCase()))
        .map(({ name }) => served(name, name));
      const search = {
        ...(text !== undefined && { text }),
        // A page in Anthropic's form may begin anywhere, so its limit applies after all names are known.
        ...(isOpenAis && limit !== undefined && { limit: Math.max(1, limit - bases.length) }),
      };
      const all = [...bases, ...(await models.listServedNames(caller, search)).map(trained)];
      return isOpenAis
        ? { object: "list", data: all.slice(0, limit).map(servedModelAnswer.body) }
        : modelInfoPage(all.map(namedModel), query);
    },
  );
  on(
    "GET /v1/models/*",
    {
      summary: "Look up a model by name",
      answer: "The model, as in the list.",
      json: servedModelAnswer.schema,
      documented: { params: nameParameter },
      fieldPaths: { model: ["path", "model"], not_found: ["path", "model"] },
    },
    async ({ caller, request }) => {
      // Safe cast: the router provides the part of the path that the wildcard matches as a string.
      const { "*": name } = request.params as { readonly "*": string };
      // An empty model name means the default model in a chat request, but is refused on this route.
      if (name === "") throw notFound("model", name);
      const { base, modelId, step } = await dependencies.directory.find(name, caller);
      const model =
        modelId === null || step === null
          ? served(name, base)
          : trained(await servedName(dependencies, name, { modelId, step, caller }));
      return isAnthropics(request) ? modelInfo(namedModel(model)) : servedModelAnswer.body(model);
    },
  );
  on(
    "GET /v1/preview/base-models",
    { summary: "List the base models", answer: "The names of the base models.", json: baseModelsSchema },
    () => baseModels().map(({ name }) => name),
  );
}

/** Adds the route that deletes a model by name. The base URL of a rollout has no such route. */
export function modelDeletionRoute(app: FastifyInstance, dependencies: HttpDependencies): void {
  const on = endpoints(app, { tag: "models", scheme: "bearer" });
  on(
    "DELETE /v1/models/*",
    {
      summary: "Delete a trained model by name",
      description:
        "If the name ends with a version, only that version is deleted. Otherwise the model is deleted with all its versions, as OpenAI's API does with fine-tuned models. Only the operator can remove base models.",
      answer: "The name of the deleted model.",
      json: modelDeletionSchema,
      documented: { params: nameParameter },
      fieldPaths: { model: ["path", "model"], not_found: ["path", "model"], unsupported: ["path", "model"] },
    },
    async ({ caller, request }) => {
      // Safe cast: the router provides the part of the path that the wildcard matches as a string.
      const { "*": name } = request.params as { readonly "*": string };
      if (name === "") throw notFound("model", name);
      await deleteNamedModel(dependencies, name, caller);
      return { id: name, object: "model", deleted: true };
    },
  );
}

function namedModel({ id, createdAt, base }: ServedModel): NamedModel {
  return { id, createdAt, contextLength: base?.contextLength ?? null };
}

/**
 * Returns the entry of a trained model. Its name is the one that the client sent. Its other fields are the same as in
 * the list.
 */
async function servedName(
  { models, versions }: Pick<HttpDependencies, "models" | "versions">,
  name: string,
  { modelId, step, caller }: { readonly modelId: string; readonly step: number; readonly caller: Caller },
): Promise<ServedName> {
  const model = await models.find(modelId, caller);
  if (parseModelName(name)?.version === "newest") return { name, model, createdAt: model.createdAt };
  const version = await versions.findVersion(modelId, step);
  return { name, model, createdAt: version?.createdAt ?? model.createdAt };
}
