// Logging trajectories of a model under a split, and reading them and their metrics back.
import { Type } from "typebox";
import type { FastifyInstance } from "fastify";
import type { Page } from "../../domain/page.ts";
import { logTrajectories } from "../../trajectories/log-trajectories.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { readBody, type BodyForm } from "../input/body.ts";
import { readQuery } from "../input/query.ts";
import { pageAnswer, pageQueryFields, pageRequest } from "../wire/page.ts";
import {
  checkGroups,
  metricRowBody,
  toTrajectoryGroup,
  trajectoryGroupSchema,
  trajectoryLogBody,
} from "../wire/trajectory.ts";
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
      const logged = await logTrajectories({ store, models, clock }, { model, split, groups });
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
  const list = <Item extends { readonly id: string }>(
    name: string,
    summary: string,
    load: (...asked: Parameters<HttpDependencies["trajectories"]["list"]>) => Promise<Page<Item>>,
    body: (item: Item) => object,
  ): void => {
    app.get<ModelPath>(
      `/v1/preview/models/:model_id/${name}`,
      { schema: { summary, querystring: querySchema, ...documented } },
      async (request, reply) => {
        const value = readQuery(querySchema, request, reply);
        const model = await reachModel(dependencies, request.caller, request.params.model_id);
        const filter = { split: value.split ?? null };
        return pageAnswer(load(model.id, filter, pageRequest(value, "asc")), body);
      },
    );
  };
  list(
    "trajectories",
    "List logged trajectories",
    (...asked) => trajectories.list(...asked),
    trajectoryLogBody,
  );
  list(
    "metrics",
    "List a model's metrics over time",
    (...asked) => trajectories.listMetrics(...asked),
    metricRowBody,
  );
}
