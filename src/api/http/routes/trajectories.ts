// Routes that log trajectories of a model under a split such as `train` or `val`, and return logged trajectories and
// their metrics.
import type { FastifyInstance } from "fastify";
import { logTrajectories } from "../../../train/trajectories/log-trajectories.ts";
import { present } from "../../../base/domain/assert.ts";
import type { TrainedModel } from "../../../base/domain/model.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";
import type { BodyReader } from "../bodies/body-reader.ts";
import { linesIn, outlinesIn } from "../../wire/packed-lines.ts";
import { loggedSchema, logQuerySchema, logSchema } from "../../wire/read-log.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { sendPieces } from "../paced-answer.ts";
import { readsPage } from "../memory-budget/stored-reads.ts";
import { pageAnswer, pageRequest, pageSchema } from "../../wire/page.ts";
import { loggedMetricsAnswer, trajectoryPageSchema } from "../../wire/trajectory.ts";
import { trajectoryPageText, limitContent } from "../../wire/trajectory-pages.ts";
import { reachModel } from "./reach.ts";

export function trajectoryRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  bodies: BodyReader,
): void {
  const { trajectories, versions: models, clock, room, settings } = dependencies;
  const on = endpoints(app, { tag: "trajectories", scheme: "bearer" });
  on(
    "POST /v1/preview/models/:model_id/log",
    {
      summary: "Log trajectories and compute their metrics",
      body: bodies.form("log", { schema: logSchema }),
      answer:
        "The metrics of the trajectories in this request. The metrics of a version of the model combine all logs of the same split for that version.",
      json: loggedSchema,
      options: {
        // Finds the model first, so that the server does not read the body of a request that it refuses.
        preParsing: async (request) => {
          // Safe cast: the route's path has this parameter.
          const { model_id: id } = request.params as { readonly model_id: string };
          request.model = await reachModel(dependencies, request.caller, id);
        },
        bodyLimit: settings.trajectoryBodyBytes,
      },
    },
    async ({ body: { split, step, modelId, summary, lines, outlines }, request }) => {
      const model = present(request.model, "the model that the log is for");
      if (modelId !== null && modelId !== model.id) throw contradiction(modelId, model);
      await room.require(model.entity);
      const log = { model, split, step, summary, lines: linesIn(lines), outlines: outlinesIn(outlines) };
      const logged = await logTrajectories({ store: trajectories, models, clock }, log);
      return {
        detail: [],
        model_id: model.id,
        split,
        step: logged.step,
        trajectories: logged.trajectories,
        metrics: logged.metrics,
      };
    },
  );
  on(
    "GET /v1/preview/models/:model_id/trajectories",
    {
      summary: "List logged trajectories",
      query: logQuerySchema,
      answer:
        "A page of logs, oldest first by default. If the trajectories of a log do not fit in a page, the log has only their size. To read the trajectories, list them with their content, or export them.",
      json: trajectoryPageSchema,
      options: readsPage,
    },
    async ({ params, query, caller, request: { id, headers }, reply }) => {
      const model = await reachModel(dependencies, caller, params.model_id);
      const page = await trajectories.list(
        model.id,
        { split: query.split ?? null },
        pageRequest(query, "asc"),
      );
      reply.type("application/json; charset=utf-8");
      const respell = async (pieces: readonly Uint8Array<ArrayBuffer>[]) => {
        const byteCount = pieces.reduce((count, piece) => count + piece.length, 0);
        const stored = { body: { pieces, byteCount }, caller, id, headers };
        return (await bodies.read("stored group", stored)).text;
      };
      const text = trajectoryPageText(limitContent(page), trajectories, respell);
      return sendPieces(reply, text, settings);
    },
  );
  on(
    "GET /v1/preview/models/:model_id/metrics",
    {
      summary: "List the metrics of a model's logs",
      query: logQuerySchema,
      answer: "A page of logs, oldest first by default.",
      json: pageSchema(loggedMetricsAnswer.schema),
      options: readsPage,
    },
    async ({ params, query, caller }) => {
      const model = await reachModel(dependencies, caller, params.model_id);
      const page = trajectories.list(model.id, { split: query.split ?? null }, pageRequest(query, "asc"));
      return pageAnswer(page, loggedMetricsAnswer.body);
    },
  );
}

/** Returns the error for a body whose model id differs from the model in the URL. */
function contradiction(modelId: string, model: TrainedModel): ServiceError {
  const message = `Value error, the path names the model ${model.id}, and model_id is ${quoted(modelId)}; leave it out, or send the same.`;
  const faults = [{ location: ["body", "model_id"], message, type: "value_error" }];
  return new ServiceError({ code: "invalid", message: `model_id: ${message}`, faults });
}
