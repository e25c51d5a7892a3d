// The versions of a trained model, as checkpoints: listing and deleting them.
import type { FastifyInstance } from "fastify";
import type { HttpDependencies } from "../dependencies.ts";
import { readBody } from "../input/read-body.ts";
import { readQuery } from "../input/query.ts";
import { answered } from "../documentation/document-routes.ts";
import {
  checkpointBody,
  checkpointDeleteForm,
  checkpointDeletionSchema,
  checkpointPageSchema,
} from "../../wire/model.ts";
import { pageAnswer, pageQuerySchema, pageRequest } from "../../wire/page.ts";
import { modelParameters, reachModel } from "./reach.ts";

const documented = { tags: ["models"], security: [{ bearer: [] }] };
const path = "/v1/preview/models/:model_id/checkpoints";

interface ModelPath {
  Params: { model_id: string };
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
      const { deleted, notFound } = await models.deleteVersions(model, steps);
      return { deleted_count: deleted.length, not_found_steps: notFound };
    },
  );
}
