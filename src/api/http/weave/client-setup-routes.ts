// Routes that Weave clients call when they start, and the route that deletes all traces of a project.
import type { FastifyInstance } from "fastify";
import { reachProject } from "../../../base/domain/project.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import {
  graphqlAnswerSchema,
  graphqlForm,
  parseGraphqlQuery,
  serverInfoSchema,
} from "../../wire/weave/graphql-queries.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { noAnswerSchema } from "../../wire/weave/calls.ts";
import { projectInPath, weaveEndpoints } from "./weave-endpoints.ts";

export function clientSetupRoutes(app: FastifyInstance, { version }: HttpDependencies): void {
  const on = weaveEndpoints(app);
  on(
    "GET /server_info",
    {
      summary: "Read the server's version, for Weave clients",
      answer: "The version.",
      json: serverInfoSchema,
    },
    () => ({ min_required_weave_python_version: "0.0.0", trace_server_version: version }),
  );
  on(
    "POST /graphql",
    {
      summary: "Answer the GraphQL queries of Weave clients",
      description:
        "Supports only the queries that Weave clients send at their start: whether a project exists (`project`, `upsertModel`), and who owns the key (`viewer`).",
      body: graphqlForm,
      answer: "The result of the query.",
      json: graphqlAnswerSchema,
    },
    ({ body: { query, variables }, caller }) => {
      const question = parseGraphqlQuery(query, { ...variables });
      if (question === null) throw unknownQuery();
      if (question.field === "viewer") {
        const { owner, entity, role } = caller;
        const viewer = {
          id: owner,
          username: owner,
          email: "",
          entity,
          flags: "{}",
          admin: role === "admin",
          teams: { edges: [] },
          defaultEntity: { name: entity },
        };
        return { data: { viewer } };
      }
      const project = { name: question.project };
      reachProject(`${question.entity}/${question.project}`, caller, ["variables"]);
      return { data: question.field === "project" ? { project } : { upsertModel: { model: project } } };
    },
  );
}

function unknownQuery(): ServiceError {
  const message =
    "This server answers the GraphQL queries `project` and `upsertModel`, with the variables `entityName` and `name`, and `viewer`; it has no other.";
  return new ServiceError({
    code: "invalid",
    faults: [{ location: ["body", "query"], message, type: "value_error" }],
  });
}

/** Adds the route that deletes a project's traces. It requires a Bearer key, because deletion cannot be undone. */
export function traceDeletionRoute(app: FastifyInstance, { traces }: HttpDependencies): void {
  endpoints(app, { tag: "weave", scheme: "bearer" })(
    "DELETE /v1/preview/projects/:entity/:project/traces",
    {
      summary: "Delete a project's calls, objects, tables and files",
      description:
        "Permanently deletes the calls that Weave clients recorded in the project, and its published objects, tables and files. Data that arrives during the deletion may remain. Feedback and recorded completions are kept.",
      documented: projectInPath,
      answer: "The traces are deleted.",
      json: noAnswerSchema,
      fieldPaths: { project_id: ["path", "project"] },
    },
    async ({ params, caller }) => {
      await traces.deleteProject(`${params.entity}/${params.project}`, caller);
      return {};
    },
  );
}
