// Logging trajectories of a model under a split, and reading them and their metrics back.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { logTrajectories } from "../../../train/trajectories/log-trajectories.ts";
import { present } from "../../../base/domain/assert.ts";
import type { TrainedModel } from "../../../base/domain/model.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";
import { readApart, type BodyReader } from "../bodies/body-reader.ts";
import { linesIn } from "../../wire/packed-lines.ts";
import { outlinesIn } from "../../wire/trajectories/packed-outlines.ts";
import { loggedSchema, logQuerySchema, logSchema } from "../../wire/read-log.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { sendPieces } from "../patient-answer.ts";
import { readsPage } from "../reading/stored-reads.ts";
import { nameIgnored } from "../input/ignored-fields.ts";
import { readQuery } from "../input/query.ts";
import { cursorRefusal, pageAnswer, pageRequest } from "../../wire/page.ts";
import { metricsPageSchema, trajectoryLogBody, trajectoryPageSchema } from "../../wire/trajectory.ts";
import { locate } from "../../wire/places.ts";
import { trajectoryPageText, withinContentBound } from "../../wire/trajectory-pages.ts";
import { modelParameters, reachModel } from "./reach.ts";

const documented = { tags: ["trajectories"], security: [{ bearer: [] }] };

interface ModelPath {
  Params: { model_id: string };
}

export function trajectoryRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  bodies: BodyReader,
): void {
  app.post<ModelPath>(
    "/v1/preview/models/:model_id/log",
    {
      ...readApart,
      // Before the body is read: what nobody will take is not worth reading.
      preParsing: async (request) => {
        request.model = await reachModel(dependencies, request.caller, request.params.model_id);
      },
      bodyLimit: dependencies.settings.trajectoryBodyBytes,
      schema: {
        summary: "Log trajectories and calculate metrics",
        params: modelParameters,
        body: logSchema,
        response: answered(
          "The metrics of these trajectories. Their version has those of all logs under the split together.",
          { json: loggedSchema },
        ),
        ...documented,
      },
    },
    async (request, reply) => {
      const { split, step, modelId, summary, lines, outlines, ignored } = await bodies.read("log", request);
      nameIgnored(reply, ignored);
      const { trajectories: store, versions: models, clock } = dependencies;
      const model = present(request.model, "the model that the log is for");
      if (modelId !== null && modelId !== model.id) throw contradiction(modelId, model);
      await dependencies.room.require(model.entity);
      const log = { model, split, step, summary, lines: linesIn(lines), outlines: outlinesIn(outlines) };
      const logged = await logTrajectories({ store, models, clock }, log).catch((error: unknown) => {
        throw locate(error, { step: ["body", "step"] });
      });
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
  listRoutes(app, dependencies, bodies);
}

/** The body names another model than the path: which of them is meant nobody can know. */
function contradiction(modelId: string, model: TrainedModel): ServiceError {
  const message = `Value error, the path names the model ${model.id}, and model_id is ${quoted(modelId)}; leave it out, or send the same.`;
  const faults = [{ location: ["body", "model_id"], message, type: "value_error" }];
  return new ServiceError({ code: "invalid", message: `model_id: ${message}`, faults });
}

function listRoutes(app: FastifyInstance, dependencies: HttpDependencies, bodies: BodyReader): void {
  const { trajectories } = dependencies;
  const list = async (request: FastifyRequest<ModelPath>, reply: FastifyReply) => {
    const value = readQuery(logQuerySchema, request, reply);
    const model = await reachModel(dependencies, request.caller, request.params.model_id);
    return trajectories.list(model.id, { split: value.split ?? null }, pageRequest(value, "asc"));
  };
  app.get<ModelPath>(
    "/v1/preview/models/:model_id/trajectories",
    {
      ...readsPage,
      schema: {
        summary: "List logged trajectories",
        params: modelParameters,
        querystring: logQuerySchema,
        response: answered(
          "A page of logs, the oldest first unless asked. One whose trajectories do not fit in a page says how long they are; the rows and the export have them.",
          { json: trajectoryPageSchema },
        ),
        ...documented,
      },
    },
    async (request, reply) => {
      const page = await list(request, reply).catch((error: unknown) => {
        throw cursorRefusal(error);
      });
      reply.type("application/json; charset=utf-8");
      const respell = async (pieces: readonly Uint8Array<ArrayBuffer>[]) => {
        const byteCount = pieces.reduce((count, piece) => count + piece.length, 0);
        const { caller, id, headers } = request;
        const stored = { body: { pieces, byteCount }, caller, id, headers };
        return (await bodies.read("stored group", stored)).text;
      };
      const text = trajectoryPageText(withinContentBound(page), trajectories, respell);
      return sendPieces(reply, text, dependencies.settings);
    },
  );
  app.get<ModelPath>(
    "/v1/preview/models/:model_id/metrics",
    {
      ...readsPage,
      schema: {
        summary: "List a model's metrics over time",
        params: modelParameters,
        querystring: logQuerySchema,
        response: answered("A page of logs, the oldest first unless asked.", { json: metricsPageSchema }),
        ...documented,
      },
    },
    (request, reply) => pageAnswer(list(request, reply), trajectoryLogBody),
  );
}
