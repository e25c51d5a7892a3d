// Routes of Ollama's API that list and describe models, and report which version of Ollama the API follows.
import type { FastifyInstance } from "fastify";
import { modelGroup } from "./answers.ts";
import { versionSchema } from "../../wire/ollama/library.ts";
import {
  descriptionBody,
  descriptionSchema,
  nameIn,
  processBody,
  processesSchema,
  showForm,
  tagBody,
  tagsSchema,
} from "../../wire/ollama/models.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { findModel, listBases, listModels } from "./listed-models.ts";

/** Version of Ollama whose API these routes implement. Clients enable features by this version. */
const ollamaVersion = "0.24.0";

export function ollamaModelRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const startedAt = dependencies.clock.now();
  const on = endpoints(app, modelGroup);
  on(
    "GET /api/version",
    { summary: "Read the version, in Ollama's API", answer: "The versions.", json: versionSchema },
    () => ({ version: ollamaVersion, hone_version: dependencies.version }),
  );
  on(
    "GET /api/tags",
    {
      summary: "List the models, in Ollama's API",
      description: "A trained model is followed by its versions.",
      answer: "The models.",
      json: tagsSchema,
    },
    async ({ caller }) => ({ models: (await listModels(dependencies, caller, startedAt)).map(tagBody) }),
  );
  on(
    "GET /api/ps",
    { summary: "List the loaded base models, in Ollama's API", answer: "The models.", json: processesSchema },
    () => {
      const loaded = listBases(dependencies, startedAt).filter(
        ({ base }) => base?.presence.status === "loaded",
      );
      return { models: loaded.map(processBody) };
    },
  );
  on(
    "POST /api/show",
    {
      summary: "Describe a model, in Ollama's API",
      body: showForm,
      answer: "The description.",
      json: descriptionSchema,
    },
    async ({ body, caller }) =>
      descriptionBody(await findModel(dependencies, nameIn(body), { caller, startedAt })),
  );
}
