// Logging trajectories of a model under a split, and reading them and their metrics back.
import { Readable } from "node:stream";
import { Type } from "typebox";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { logTrajectories } from "../../trajectories/log-trajectories.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { locate } from "../errors.ts";
import { readBody, type BodyForm } from "../input/body.ts";
import { readQuery } from "../input/query.ts";
import { cursorRefusal, pageAnswer, pageQueryFields, pageRequest } from "../wire/page.ts";
import {
  checkGroups,
  toTrajectoryGroup,
  trajectoryGroupSchema,
  trajectoryLogBody,
} from "../wire/trajectory.ts";
import { trajectoryPageText, withinContentBound } from "../wire/trajectory-pages.ts";
import { reachModel } from "./reach.ts";

const logSchema = Type.Object(
  {
    split: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 128 }), Type.Null()])),
    trajectory_groups: Type.Array(trajectoryGroupSchema),
    model_id: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  },
  { title: "TrajectoryLog" },
);
const logForm: BodyForm<typeof logSchema> = {
  schema: logSchema,
  // Clients repeat in `model_id` what the path says.
  fields: { split: "read", trajectory_groups: "read", model_id: "accepted" },
  more: (body, findings) => checkGroups(body["trajectory_groups"], findings),
};
const querySchema = Type.Object({ ...pageQueryFields, split: Type.Optional(Type.String()) });
const documented = { tags: ["trajectories"], security: [{ bearer: [] }] };

interface ModelPath {
  Params: { model_id: string };
}

export function trajectoryRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  app.post<ModelPath>(
    "/v1/preview/models/:model_id/log",
    {
      bodyLimit: dependencies.settings.trajectoryBodyBytes,
      schema: { summary: "Log trajectories and calculate metrics", body: logSchema, ...documented },
    },
    async (request, reply) => {
      const model = await reachModel(dependencies, request.caller, request.params.model_id);
      const body = readBody(logForm, request, reply);
      const { trajectories: store, versions: models, clock } = dependencies;
      const split = body.split ?? "val";
      const groups = body.trajectory_groups.map(toTrajectoryGroup);
      const logged = await logTrajectories({ store, models, clock }, { model, split, groups }).catch(
        (error: unknown) => {
          throw locate(error, { groups: ["body", "trajectory_groups"] });
        },
      );
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
  listRoutes(app, dependencies);
}

function listRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { trajectories } = dependencies;
  const list = async (request: FastifyRequest<ModelPath>, reply: FastifyReply) => {
    const value = readQuery(querySchema, request, reply);
    const model = await reachModel(dependencies, request.caller, request.params.model_id);
    return trajectories.list(model.id, { split: value.split ?? null }, pageRequest(value, "asc"));
  };
  app.get<ModelPath>(
    "/v1/preview/models/:model_id/trajectories",
    { schema: { summary: "List logged trajectories", querystring: querySchema, ...documented } },
    async (request, reply) => {
      const page = await list(request, reply).catch((error: unknown) => {
        throw cursorRefusal(error);
      });
      reply.type("application/json; charset=utf-8");
      return reply.send(Readable.from(trajectoryPageText(withinContentBound(page), trajectories)));
    },
  );
  app.get<ModelPath>(
    "/v1/preview/models/:model_id/metrics",
    { schema: { summary: "List a model's metrics over time", querystring: querySchema, ...documented } },
    (request, reply) => pageAnswer(list(request, reply), trajectoryLogBody),
  );
}
