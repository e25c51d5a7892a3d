// The versions of a trained model, as checkpoints: listing, reading, pinning and deleting them.
import type { FastifyInstance } from "fastify";
import type { HttpDependencies } from "../../dependencies.ts";
import { readBody } from "../../input/read-body.ts";
import { readQuery } from "../../input/query.ts";
import { answered } from "../../documentation/document-routes.ts";
import {
  checkpointBody,
  checkpointDeleteForm,
  checkpointDeletionBody,
  checkpointDeletionSchema,
  checkpointPageSchema,
  checkpointSchema,
} from "../../../wire/model.ts";
import { pageAnswer, pageQuerySchema, pageRequest } from "../../../wire/page.ts";
import { atStep, modelParameters, reachModel, reachStep, versionParameters } from "../reach.ts";

const documented = { tags: ["models"], security: [{ bearer: [] }] };
const path = "/v1/preview/models/:model_id/checkpoints";

interface ModelPath {
  Params: { model_id: string };
}

interface VersionPath {
  Params: { model_id: string; step: string };
}

export function checkpointRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { models } = dependencies;
  app.get<ModelPath>(
    path,
    {
      schema: {
        summary: "List a model's versions",
        params: modelParameters,
        querystring: pageQuerySchema,
        response: answered("A page of them, the oldest first unless asked.", { json: checkpointPageSchema }),
        ...documented,
      },
    },
    async (request, reply) => {
      const value = readQuery(pageQuerySchema, request, reply);
      const model = await reachModel(dependencies, request.caller, request.params.model_id);
      return pageAnswer(models.listVersions(model, pageRequest(value, "asc")), checkpointBody);
    },
  );
  app.delete<ModelPath>(
    path,
    {
      schema: {
        summary: "Delete versions of a model",
        params: modelParameters,
        body: checkpointDeleteForm.schema,
        response: answered("How many there were, and which there were not.", {
          json: checkpointDeletionSchema,
        }),
        ...documented,
      },
    },
    async (request, reply) => {
      const { steps } = readBody(checkpointDeleteForm, request, reply);
      const model = await reachModel(dependencies, request.caller, request.params.model_id);
      return checkpointDeletionBody(await models.deleteVersions(model, steps));
    },
  );
  app.get<VersionPath>(
    `${path}/:step`,
    {
      schema: {
        summary: "Read a version of a model",
        params: versionParameters,
        response: answered("The version.", { json: checkpointSchema }),
        ...documented,
      },
    },
    async (request) => {
      const { model, step } = await reachStep(dependencies, request.caller, request.params);
      return checkpointBody(await models.findVersion(model, step).catch(throwAtStep));
    },
  );
  pinRoute(app, dependencies, { method: "PUT", isPinned: true });
  pinRoute(app, dependencies, { method: "DELETE", isPinned: false });
}

function pinRoute(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  { method, isPinned }: { readonly method: "PUT" | "DELETE"; readonly isPinned: boolean },
): void {
  const summary = isPinned
    ? "Pin a version, so that it is kept until it is unpinned"
    : "Unpin a version, so that it may be deleted";
  app.route<VersionPath>({
    method,
    url: `${path}/:step/pin`,
    schema: {
      summary,
      params: versionParameters,
      response: answered("The version.", { json: checkpointSchema }),
      ...documented,
    },
    handler: async (request) => {
      const { model, step } = await reachStep(dependencies, request.caller, request.params);
      return checkpointBody(await dependencies.models.pinVersion(model, step, isPinned).catch(throwAtStep));
    },
  });
}

function throwAtStep(error: unknown): never {
  throw atStep(error);
}
