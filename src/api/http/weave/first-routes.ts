// What clients of Weave ask before anything else, and the deletion of all that a project has.
import type { FastifyInstance } from "fastify";
import { reachProject } from "../../../base/domain/project.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import {
  graphqlAnswerSchema,
  graphqlForm,
  questionIn,
  serverInfoSchema,
} from "../../wire/weave/first-questions.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { readBody } from "../input/read-body.ts";
import { noAnswerSchema } from "../../wire/weave/calls.ts";
import { relocate } from "../../wire/places.ts";
import { documented, inBody } from "./weave-route.ts";

export function firstRoutes(app: FastifyInstance, { version }: HttpDependencies): void {
  app.get(
    "/server_info",
    {
      schema: documented({
        summary: "Say which server this is, to clients of Weave",
        response: answered("Its version.", { json: serverInfoSchema }),
      }),
    },
    () => ({ min_required_weave_python_version: "0.0.0", trace_server_version: version }),
  );
  app.post(
    "/graphql",
    {
      schema: documented({
        summary: "Answer what clients of Weave ask in GraphQL",
        description:
          "Whether a project is there (`project`, `upsertModel`), and who the key is (`viewer`); nothing else.",
        body: graphqlForm.schema,
        response: answered("What was asked for.", { json: graphqlAnswerSchema }),
      }),
    },
    (request, reply) => {
      const { query, variables } = readBody(graphqlForm, request, reply);
      const question = questionIn(query, { ...variables });
      if (question === null) throw unknownQuestion();
      const { owner, entity, role } = request.caller;
      if (question.field === "viewer") {
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
      try {
        reachProject(`${question.entity}/${question.project}`, request.caller, ["variables"]);
      } catch (error) {
        return inBody()(error);
      }
      return { data: question.field === "project" ? { project } : { upsertModel: { model: project } } };
    },
  );
}

function unknownQuestion(): ServiceError {
  const message =
    "This server answers the GraphQL queries `project` and `upsertModel`, with the variables `entityName` and `name`, and `viewer`; it has no other.";
  return new ServiceError({
    code: "invalid",
    faults: [{ location: ["body", "query"], message, type: "value_error" }],
  });
}

interface ProjectPath {
  Params: { entity: string; project: string };
}

const projectParameters = {
  type: "object",
  properties: {
    entity: { type: "string", description: "The project's entity." },
    project: { type: "string", description: "The project." },
  },
} as const;

/** Under the credentials of models: it removes what nobody can bring back. */
export function traceDeletionRoute(app: FastifyInstance, { traces }: HttpDependencies): void {
  app.delete<ProjectPath>(
    "/v1/preview/projects/:entity/:project/traces",
    {
      schema: {
        summary: "Delete all traces of a project",
        description:
          "Its published objects, tables and files and its recorded calls are gone for good; what comes meanwhile may stay. Feedback stays.",
        params: projectParameters,
        response: answered("They are gone.", { json: noAnswerSchema }),
        tags: ["weave"],
        security: [{ bearer: [] }],
      },
    },
    async ({ params, caller }) => {
      try {
        await traces.deleteProject(`${params.entity}/${params.project}`, caller);
      } catch (error) {
        throw relocate(error, () => ["path", "project"]);
      }
      return {};
    },
  );
}
