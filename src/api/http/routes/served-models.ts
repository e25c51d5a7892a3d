// What a chat request may name as its model: OpenAI's list and the card of one name, both as Anthropic's clients read them
// too, and the names of the base models.
import type { FastifyInstance } from "fastify";
import type { Caller } from "../../../base/domain/access.ts";
import { adapterOfServer, type AdapterWish } from "../../../base/domain/model.ts";
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
  adapterWishBody,
  baseModelsSchema,
  servedModelListSchema,
  servedModelSchema,
  servedDeviceBody,
  servedRepliesBody,
  servedStatusBody,
} from "../../wire/model.ts";
import { locate } from "../../wire/places.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { isAnthropics } from "../anthropic/dialect.ts";
import { readQuery } from "../input/query.ts";
import { answered } from "../documentation/document-routes.ts";

/** Of the path's rest, under the name that the document gives it. */
const nameParameter = {
  type: "object",
  properties: {
    model: {
      type: "string",
      description: "Any name that a chat takes as its model, slashes and versions included.",
    },
  },
} as const;

const documented = { tags: ["models"], security: [{ bearer: [] }] };

export function servedModelRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { models, baseModels, clock } = dependencies;
  const startedAt = clock.now();
  app.get(
    "/v1/models",
    {
      schema: {
        summary: "List every name that can be chatted with",
        description:
          "With the header `anthropic-version` it is a page as Anthropic's API has it (`limit`, `after_id`, `before_id`).",
        ...documented,
        response: answered("As OpenAI lists models.", { json: servedModelListSchema }),
      },
    },
    async (request, reply) => {
      const bases = baseModels().map(({ name }) => baseCard(name, name));
      const trained = await models.listServedNames(request.caller);
      const cards = [...bases, ...trained.map(trainedCard)];
      if (!isAnthropics(request)) return { object: "list", data: cards.map(cardBody) };
      return modelInfoPage(cards.map(namedModel), readQuery(modelListQuerySchema, request, reply));
    },
  );
  app.get<{ Params: { "*": string } }>(
    "/v1/models/*",
    {
      schema: {
        summary: "Say what a name stands for",
        ...documented,
        params: nameParameter,
        response: answered("As the list has it.", { json: servedModelSchema }),
      },
    },
    async (request) => {
      const { params, caller } = request;
      const spelled = (card: Card): object =>
        isAnthropics(request) ? modelInfo(namedModel(card)) : cardBody(card);
      const name = params["*"];
      try {
        // Without a name a chat is answered by the default model, but that is none here.
        if (name === "") throw notFound("model", name);
        const { base, modelId, step } = await dependencies.directory.find(name, caller);
        if (modelId === null || step === null) return spelled(baseCard(name, base));
        const served = await servedName(dependencies, name, { modelId, step, caller });
        return spelled(trainedCard(served));
      } catch (error) {
        const place = ["path", "model"];
        throw locate(error, { model: place, not_found: place });
      }
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
    () => baseModels().map(({ name }) => name),
  );

  const baseCard = (id: string, base: string): Card => ({
    id,
    createdAt: startedAt,
    owner: "hone",
    root: base,
    parent: null,
    base,
    adapter: adapterOfServer,
  });
  const listedBase = ({ base }: Card) => baseModels().find(({ name }) => name === base);
  const namedModel = (card: Card): NamedModel => ({
    id: card.id,
    createdAt: card.createdAt,
    contextLength: listedBase(card)?.contextLength ?? null,
  });
  const cardBody = (card: Card): object => {
    const { id, createdAt, owner, root, parent, adapter } = card;
    const listed = listedBase(card);
    return {
      id,
      object: "model",
      created: Math.floor(createdAt.getTime() / 1000),
      owned_by: owner,
      root,
      parent,
      max_model_len: listed?.contextLength ?? null,
      ...adapterWishBody(adapter),
      exact: listed?.isExact ?? null,
      device: listed?.device ? servedDeviceBody(listed.device) : null,
      ...servedRepliesBody(listed?.replies ?? null),
      ...servedStatusBody(listed ?? null),
    };
  };
}

interface Card {
  readonly id: string;
  readonly createdAt: Date;
  readonly owner: string;
  readonly root: string;
  readonly parent: string | null;
  /** Whose context length it has; a base that is not served has none. */
  readonly base: string;
  /** What new versions of it are to be like. */
  readonly adapter: AdapterWish;
}

function trainedCard({ name, model, createdAt }: ServedName): Card {
  return {
    id: name,
    createdAt,
    owner: model.entity,
    root: fullName(model),
    parent: model.baseModel,
    base: model.baseModel,
    adapter: model.adapter,
  };
}

/** As the list has it, whatever spelling of the name was sent. */
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
