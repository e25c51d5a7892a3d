// Routes that load a base model into the memory of this server, and unload it.
import type { FastifyInstance } from "fastify";
import { baseMemoryAnswer } from "../../../wire/models/base-memory.ts";
import { adminOnly } from "../../credentials/admin-only.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { abandonedSignal } from "../../request-scope.ts";

export function baseMemoryRoutes(
  app: FastifyInstance,
  { baseMemory, baseModels }: Pick<HttpDependencies, "baseMemory" | "baseModels">,
): void {
  const on = endpoints(app, {
    tag: "models",
    scheme: "bearer",
    options: adminOnly("Only administrators can load and unload base models; this key is a member's."),
  });
  const common = {
    answer: "The model and its state.",
    json: baseMemoryAnswer.schema,
    fieldPaths: { not_found: ["path", "base_model"] },
  } as const;
  const stateOf = (name: string) =>
    baseMemoryAnswer.body({
      name,
      presence: baseModels().find((base) => base.name === name)?.presence ?? null,
    });
  on(
    "POST /v1/preview/base-models/:base_model/load",
    {
      summary: "Load a base model",
      description:
        "Requires an admin key. The answer comes when the model is in the memory of this server; if memory is short, the server first unloads other idle models. Requests for a model load it too, so loading it with this route only spares the first such request the wait.",
      ...common,
    },
    async ({ params: { base_model: name }, reply }) => {
      await baseMemory.load(name, { signal: abandonedSignal(reply) });
      return stateOf(name);
    },
  );
  on(
    "POST /v1/preview/base-models/:base_model/unload",
    {
      summary: "Unload a base model",
      description:
        "Requires an admin key. Frees the memory that the model takes on this server; 409 while requests run on the model or wait for it. The next request for the model loads it again.",
      ...common,
    },
    async ({ params: { base_model: name } }) => {
      await baseMemory.unload(name);
      return stateOf(name);
    },
  );
}
