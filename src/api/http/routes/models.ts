// Routes that register, list, read and delete trained models.
import type { FastifyInstance } from "fastify";
import type { Caller } from "../../../base/domain/access.ts";
import type { TrainedModel } from "../../../base/domain/model.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import {
  acceptedBaseSchema,
  modelAnswer,
  modelCreateForm,
  modelDeletionSchema,
  modelQuerySchema,
  registrationPaths,
} from "../../wire/models/model.ts";
import { pageAnswer, pageRequest, pageSchema } from "../../wire/page.ts";
import { reachModel } from "./reach.ts";

export function modelRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { models } = dependencies;
  const on = endpoints(app, { tag: "models", scheme: "bearer" });
  const one = { answer: "The model.", json: modelAnswer.schema };
  const find = ({ model_id: id }: { readonly model_id: string }, caller: Caller): Promise<TrainedModel> =>
    reachModel(dependencies, caller, id);
  on(
    "POST /v1/preview/models",
    { summary: "Register a model to train", body: modelCreateForm, fieldPaths: registrationPaths, ...one },
    async ({ body: { entity, loraRank, loraAlpha, targetModules, ...named }, caller }) => {
      const adapter = { rank: loraRank, alpha: loraAlpha, targets: targetModules };
      // If the request has no entity, the model belongs to the caller's entity.
      const registration = { ...named, entity: entity || caller.entity, adapter };
      return modelAnswer.body(await models.register(registration, caller));
    },
  );
  on(
    "GET /v1/preview/models",
    {
      summary: "List models",
      query: modelQuerySchema,
      answer: "A page of models, newest first by default.",
      json: pageSchema(modelAnswer.schema),
    },
    ({ query, caller }) => {
      const { entity = null, project = null, name = null, search, learning } = query;
      const filter = {
        entity,
        project,
        name,
        ...(search !== undefined && { text: search }),
        ...(learning === "on" && ({ learns: true } as const)),
      };
      const page = models.list(filter, pageRequest(query, "desc"), caller);
      return pageAnswer(page, modelAnswer.body);
    },
  );
  on("GET /v1/preview/models/:model_id", { summary: "Read a model", find, ...one }, ({ found }) =>
    modelAnswer.body(found),
  );
  on(
    "POST /v1/preview/models/:model_id/accept-base",
    {
      summary: "Accept that a model's base has new weights",
      description:
        "After the weights of a base model have changed, the server refuses to answer with versions that were trained on the earlier weights. This request makes it serve all versions of the model on the current weights. Their answers may then differ from earlier ones.",
      find,
      answer: "The versions that were trained on earlier weights, and are now served on the current ones.",
      json: acceptedBaseSchema,
    },
    async ({ found: model }) => {
      const { weights, steps } = await models.acceptBase(model);
      return {
        model_id: model.id,
        base_model: model.baseModel,
        base_hash: weights,
        accepted_steps: steps,
      };
    },
  );
  on(
    "DELETE /v1/preview/models/:model_id",
    {
      summary: "Delete a model and all its data",
      find,
      answer: "The id of the deleted model, and the number of versions deleted.",
      json: modelDeletionSchema,
    },
    async ({ found: model }) => ({
      model_id: model.id,
      deleted_checkpoints: await models.delete(model),
      deleted_run: false,
    }),
  );
}
