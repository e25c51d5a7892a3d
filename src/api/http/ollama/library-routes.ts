// Routes of Ollama's API that add and delete models. Trained models can be deleted; base models belong to the operator,
// who adds and removes them with `hone models`.
import type { FastifyInstance } from "fastify";
import { cut, ServiceError } from "../../../base/domain/service-error.ts";
import { deleteForm, emptySchema, pullForm, statusSchema } from "../../wire/ollama/library.ts";
import { nameIn } from "../../wire/ollama/models.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { deleteNamedModel } from "../routes/delete-named-model.ts";
import { linesType } from "../sse.ts";
import { modelGroup } from "./answers.ts";

/** Operations of Ollama's API that Hone does not have, each with an error message that says what to do instead. */
const refused = {
  copy: "Hone does not copy models under another name; `hone models create <project> <name> --from <model>` starts a new model from a version.",
  create:
    "Hone does not build models from a Modelfile. Add a base model with `hone models add`, send the system message with each request, or train a model.",
  push: "Hone publishes no models; `hone models export` writes a version as files.",
} as const;

export function ollamaLibraryRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { directory } = dependencies;
  const on = endpoints(app, modelGroup);
  on(
    "POST /api/pull",
    {
      summary: "Check that a model is served (Ollama's pull)",
      description:
        "Succeeds for a model that this server serves. It downloads no models: only the operator adds base models, with `hone models add`.",
      body: pullForm,
      answer: "The progress.",
      json: statusSchema,
      ndjson: statusSchema,
    },
    async ({ body, caller, reply }) => {
      const name = nameIn(body);
      await directory.find(name, caller).catch((error: unknown) => {
        throw isUnknown(error) ? notServed(name) : error;
      });
      if (body.stream === false) return { status: "success" };
      const lines = ["pulling manifest", "success"].map((status) => `${JSON.stringify({ status })}\n`);
      return reply.type(linesType).send(lines.join(""));
    },
  );
  on(
    "DELETE /api/delete",
    {
      summary: "Delete a trained model or one of its versions, in Ollama's API",
      body: deleteForm,
      answer: "Nothing.",
      json: emptySchema,
    },
    async ({ body, caller }) => {
      await deleteNamedModel(dependencies, nameIn(body), caller);
      return {};
    },
  );
  for (const [name, message] of Object.entries(refused))
    app.post(`/api/${name}`, { schema: { hide: true } }, () => {
      throw new ServiceError({ code: "unsupported", message });
    });
}

function isUnknown(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "not_found";
}

function notServed(name: string): ServiceError {
  const message = `The model ${cut(name)} is not on this server, which downloads no models by itself. The operator adds one with \`hone models add\` and then restarts the server.`;
  return new ServiceError({
    code: "not_found",
    faults: [{ location: ["model"], message, type: "not_found" }],
  });
}
