// Routes of the Tinker API about training runs and saved weights (checkpoints). A run is a trained model, and saved
// weights are its versions, so the routes of models show them, too.
import type { FastifyInstance } from "fastify";
import type { Caller } from "../../../base/domain/access.ts";
import { notFound } from "../../../base/domain/service-error.ts";
import { runOfModel, savedIdOf, savedKinds } from "../../../train/sessions/run-names.ts";
import type { SavedPlace } from "../../../train/sessions/saved-weights.ts";
import { noAnswerSchema } from "../../wire/weave/calls.ts";
import {
  checkpointBody,
  checkpointsSchema,
  expiryForm,
  runAnswerSchema,
  runBody,
  runsQuerySchema,
  runsSchema,
} from "../../wire/tinker/run-bodies.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { tinkerEndpoints } from "./tinker-endpoints.ts";

interface CheckpointParameters {
  readonly run_id: string;
  readonly kind: string;
  readonly checkpoint: string;
}

export function runRoutes(app: FastifyInstance, { sessions }: HttpDependencies): void {
  const { saved } = sessions;
  const on = tinkerEndpoints(app);
  const findRun = ({ run_id: id }: { readonly run_id: string }, caller: Caller) => saved.findRun(id, caller);
  const findSaved = async (params: CheckpointParameters, caller: Caller): Promise<SavedPlace> => {
    const found = await findRun(params, caller);
    const kind = savedKinds.find((each) => each === params.kind);
    const id = kind === undefined ? null : savedIdOf({ kind, name: params.checkpoint });
    const version = id === null ? null : await saved.findIn(found.model, id);
    if (version === null) throw notFound("checkpoint", `${params.kind}/${params.checkpoint}`);
    return { ...found, version };
  };
  on(
    "GET /api/v1/training_runs",
    {
      summary: "List training runs",
      query: runsQuerySchema,
      answer: "A page of runs, the newest first.",
      json: runsSchema,
    },
    async ({ query: { limit = 20, offset = 0 }, caller }) => {
      const models = await sessions.runs(caller);
      const shown = models.slice(offset, offset + limit).map(async (model) => {
        const run = runOfModel(model);
        return run === null ? [] : [runBody(run, model, await saved.list(model))];
      });
      return {
        training_runs: (await Promise.all(shown)).flat(),
        cursor: { offset, limit, total_count: models.length },
      };
    },
  );
  on(
    "GET /api/v1/training_runs/:run_id",
    { summary: "Read a training run", find: findRun, answer: "The run.", json: runAnswerSchema },
    async ({ found: { run, model } }) => runBody(run, model, await saved.list(model)),
  );
  on(
    "GET /api/v1/training_runs/:run_id/checkpoints",
    { summary: "List saved weights", find: findRun, answer: "The saved weights.", json: checkpointsSchema },
    async ({ found: { run, model } }) => ({
      checkpoints: (await saved.list(model)).map((version) => checkpointBody(run, version)),
    }),
  );
  on(
    "DELETE /api/v1/training_runs/:run_id/checkpoints/:kind/:checkpoint",
    {
      summary: "Delete saved weights",
      find: findSaved,
      answer: "The weights are deleted.",
      json: noAnswerSchema,
    },
    async ({ found: { model, version } }) => {
      await saved.delete(model, version);
      return {};
    },
  );
  on(
    "PUT /api/v1/training_runs/:run_id/checkpoints/:kind/:checkpoint/ttl",
    {
      summary: "Change the life of saved weights",
      find: findSaved,
      body: expiryForm,
      answer: "The life is changed.",
      json: noAnswerSchema,
    },
    async ({ found, body: { ttl_seconds: seconds } }) => {
      await sessions.setLife(found, typeof seconds === "number" ? seconds * 1000 : null);
      return {};
    },
  );
  on(
    "GET /api/v1/training_runs/:run_id/checkpoints/:kind/:checkpoint/archive",
    {
      summary: "Find the archive of saved weights",
      find: findSaved,
      answer: "A redirect to a tar archive of the adapter in the PEFT layout.",
      json: noAnswerSchema,
    },
    ({ found: { model, version }, reply }) =>
      reply.redirect(`/v1/preview/models/${model.id}/checkpoints/${version.step}/export?format=peft`, 302),
  );
}
