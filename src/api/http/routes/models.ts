// Trained models: registering, listing, reading and deleting them.
import type { FastifyInstance } from "fastify";
import type { Caller } from "../../../base/domain/access.ts";
import { orderedProjections } from "../../../base/domain/model.ts";
import type { ForkSource } from "../../../inference/models/registry/fork-source.ts";
import type { Registration } from "../../../inference/models/registry/register-model.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { ValueOf } from "../../wire/checked.ts";
import { locate } from "../../wire/places.ts";
import { readBody } from "../input/read-body.ts";
import { readQuery } from "../input/query.ts";
import { answered } from "../documentation/document-routes.ts";
import {
  acceptedBaseSchema,
  modelBody,
  modelCreateForm,
  modelDeletionSchema,
  modelPageSchema,
  modelQuerySchema,
  modelSchema,
  registrationPlaces,
} from "../../wire/model.ts";
import { pageAnswer, pageRequest } from "../../wire/page.ts";
import { modelParameters, reachModel } from "./reach.ts";

const documented = { tags: ["models"], security: [{ bearer: [] }] };

interface ModelPath {
  Params: { model_id: string };
}

export function modelRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { models } = dependencies;
  app.post(
    "/v1/preview/models",
    {
      schema: {
        summary: "Register a model to train",
        body: modelCreateForm.schema,
        response: answered("The model.", { json: modelSchema }),
        ...documented,
      },
    },
    async (request, reply) => {
      const registration = toRegistration(readBody(modelCreateForm, request, reply), request.caller);
      const model = await models.register(registration, request.caller).catch((error: unknown) => {
        throw locate(error, registrationPlaces);
      });
      return modelBody(model);
    },
  );
  app.get(
    "/v1/preview/models",
    {
      schema: {
        summary: "List models",
        querystring: modelQuerySchema,
        response: answered("A page of them, the newest first unless asked.", { json: modelPageSchema }),
        ...documented,
      },
    },
    async (request, reply) => {
      const query = readQuery(modelQuerySchema, request, reply);
      const filter = {
        entity: query.entity ?? null,
        project: query.project ?? null,
        name: query.name ?? null,
      };
      return pageAnswer(models.list(filter, pageRequest(query, "desc"), request.caller), modelBody);
    },
  );
  app.get<ModelPath>(
    "/v1/preview/models/:model_id",
    {
      schema: {
        summary: "Read a model",
        params: modelParameters,
        response: answered("The model.", { json: modelSchema }),
        ...documented,
      },
    },
    async (request) => modelBody(await reachModel(dependencies, request.caller, request.params.model_id)),
  );
  app.post<ModelPath>(
    "/v1/preview/models/:model_id/accept-base",
    {
      schema: {
        summary: "Accept that a model's base has other weights now",
        params: modelParameters,
        response: answered("The versions that answer over other weights from now on.", {
          json: acceptedBaseSchema,
        }),
        ...documented,
      },
    },
    async (request) => {
      const model = await reachModel(dependencies, request.caller, request.params.model_id);
      const { weights, steps } = await models.acceptBase(model);
      return {
        model_id: model.id,
        base_model: model.baseModel,
        base_hash: weights,
        accepted_steps: steps,
      };
    },
  );
  app.delete<ModelPath>(
    "/v1/preview/models/:model_id",
    {
      schema: {
        summary: "Delete a model with everything of it",
        params: modelParameters,
        response: answered("What was deleted.", { json: modelDeletionSchema }),
        ...documented,
      },
    },
    async (request) => {
      const model = await reachModel(dependencies, request.caller, request.params.model_id);
      const versionCount = await models.delete(model);
      return { model_id: model.id, deleted_checkpoints: versionCount, deleted_run: false };
    },
  );
}

/** A model without an entity is the caller's. */
function toRegistration(body: ValueOf<typeof modelCreateForm.schema>, caller: Caller): Registration {
  return {
    entity: (body.entity ?? "") === "" ? caller.entity : (body.entity ?? caller.entity),
    project: body.project,
    name: body.name,
    baseModel: body.base_model,
    adapter: {
      rank: body.lora_rank ?? null,
      alpha: body.lora_alpha ?? null,
      targets: body.target_modules ? orderedProjections(body.target_modules) : null,
    },
    from: forkSource(body.from ?? null),
    returnExisting: body.return_existing ?? false,
  };
}

function forkSource(
  from: { readonly model: string; readonly step?: number | null } | null,
): ForkSource | null {
  return from && { model: from.model, step: from.step ?? null };
}
