// Routes that list, read, pin and delete the versions of a trained model (checkpoints).
import type { FastifyInstance } from "fastify";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import {
  checkpointAnswer,
  checkpointDeleteForm,
  checkpointDeletionAnswer,
} from "../../../wire/models/model.ts";
import { pageAnswer, pageQuerySchema, pageRequest, pageSchema } from "../../../wire/page.ts";
import { reachModel, reachStep } from "../reach.ts";

export function checkpointRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { models } = dependencies;
  const on = endpoints(app, { tag: "models", scheme: "bearer" });
  const one = { answer: "The version.", json: checkpointAnswer.schema };
  on(
    "GET /v1/preview/models/:model_id/checkpoints",
    {
      summary: "List a model's versions",
      query: pageQuerySchema,
      answer: "A page of versions, oldest first by default.",
      json: pageSchema(checkpointAnswer.schema),
    },
    async ({ params, query, caller }) => {
      const model = await reachModel(dependencies, caller, params.model_id);
      return pageAnswer(models.listVersions(model, pageRequest(query, "asc")), checkpointAnswer.body);
    },
  );
  on(
    "DELETE /v1/preview/models/:model_id/checkpoints",
    {
      summary: "Delete versions of a model",
      body: checkpointDeleteForm,
      answer: "The number of versions deleted, and the steps that were not deleted.",
      json: checkpointDeletionAnswer.schema,
    },
    async ({ params, body: { steps }, caller }) => {
      const model = await reachModel(dependencies, caller, params.model_id);
      return checkpointDeletionAnswer.body(await models.deleteVersions(model, steps));
    },
  );
  on(
    "GET /v1/preview/models/:model_id/checkpoints/:step",
    { summary: "Read a version of a model", ...one },
    async ({ params, caller }) => {
      const { model, step } = await reachStep(dependencies, caller, params);
      return checkpointAnswer.body(await models.findVersion(model, step));
    },
  );
  for (const [method, isPinned, summary] of [
    ["PUT", true, "Pin a version to protect it from automatic deletion"],
    ["DELETE", false, "Unpin a version to allow its automatic deletion"],
  ] as const)
    on(
      `${method} /v1/preview/models/:model_id/checkpoints/:step/pin`,
      { summary, ...one },
      async ({ params, caller }) => {
        const { model, step } = await reachStep(dependencies, caller, params);
        return checkpointAnswer.body(await models.pinVersion(model, step, isPinned));
      },
    );
}
