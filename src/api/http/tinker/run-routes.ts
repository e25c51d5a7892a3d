// Routes of the Tinker API about training runs and saved weights (checkpoints). A run is a trained model, and saved
// weights are its versions, so the routes of models show them, too.
import type { FastifyInstance } from "fastify";
import type { Caller } from "../../../base/domain/access.ts";
import { type RunKey, runOfModel } from "../../../train/sessions/run-names.ts";
import type { SavedVersion } from "../../../train/sessions/saved-weights.ts";
import { noAnswerSchema } from "../../wire/weave/calls.ts";
import {
  checkpointBody,
  checkpointsSchema,
  expiryForm,
  runAnswerSchema,
  runBody,
  runsQuerySchema,
  runsSchema,
  savedPageSchema,
  savedQuerySchema,
} from "../../wire/tinker/run-bodies.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { type CheckpointParameters, findSaved } from "./find-saved.ts";
import { tinkerEndpoints } from "./tinker-endpoints.ts";

export function runRoutes(app: FastifyInstance, { sessions }: HttpDependencies): void {
  const { saved } = sessions;
  const on = tinkerEndpoints(app);
  const findRun = ({ run_id: id }: { readonly run_id: string }, caller: Caller) => saved.findRun(id, caller);
  const find = (params: CheckpointParameters, caller: Caller) => findSaved(saved, params, caller);
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
    "GET /api/v1/checkpoints",
    {
      summary: "List the saved weights of all training runs",
      query: savedQuerySchema,
      answer: "A page of saved weights, the newest first.",
      json: savedPageSchema,
    },
    async ({ query: { limit = 100, offset = 0 }, caller }) => {
      const all: { readonly run: RunKey; readonly version: SavedVersion }[] = [];
      for (const model of await sessions.runs(caller)) {
        const run = runOfModel(model);
        if (run !== null) for (const version of await saved.list(model)) all.push({ run, version });
      }
      all.sort((one, other) => other.version.createdAt.getTime() - one.version.createdAt.getTime());
      return {
        checkpoints: all
          .slice(offset, offset + limit)
          .map(({ run, version }) => checkpointBody(run, version)),
        cursor: { offset, limit, total_count: all.length },
      };
    },
  );
  on(
    "DELETE /api/v1/training_runs/:run_id/checkpoints/:kind/:checkpoint",
    {
      summary: "Delete saved weights",
      find,
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
      summary: "Change the expiry of saved weights",
      find,
      body: expiryForm,
      answer: "The expiry is changed.",
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
      summary: "Redirect to a tar archive of saved weights",
      find,
      answer: "A redirect to a tar archive of the adapter in PEFT format.",
      json: noAnswerSchema,
    },
    ({ found: { model, version }, reply }) =>
      reply.redirect(`/v1/preview/models/${model.id}/checkpoints/${version.step}/export?format=peft`, 302),
  );
}
