// Adds a copy of each route that calls a model, below the base URL of a rollout. The copies serve agents that cannot
// change their key, and agents that use the rollout's own key.
import type { FastifyInstance } from "fastify";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { messageRoute, tokenCountRoute } from "../../anthropic/message-routes.ts";
import { rolloutPass } from "../../credentials/rollout-key.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { addAnsweringRoute, type Answering, chatCompletionRoute } from "../answer-chat.ts";
import { completionRoute } from "../completions.ts";
import { ollamaChatRoute, ollamaGenerateRoute } from "../../ollama/chat-routes.ts";
import { reachModel } from "../reach.ts";
import { responseRoute } from "../responses.ts";
import { servedModelRoutes } from "../served-models.ts";

const prefix = "/v1/preview/models/:model_id/rollouts/:rollout_id";

/** Adds the routes. `app` requires the credentials. */
export async function rolloutCallRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  answering: Answering,
): Promise<void> {
  await app.register(
    async (scope) => {
      // The routes are documented at their usual paths.
      scope.addHook("onRoute", (route) => {
        route.schema = { ...route.schema, hide: true };
      });
      scope.addHook("onRequest", async (request) => {
        // Safe cast: these parameters are in the prefix of each route.
        const { model_id: modelId, rollout_id: id } = request.params as Readonly<Record<string, string>>;
        const { caller } = request;
        const pass = caller.rollout ?? null;
        if (pass !== null && pass.id !== id.toLowerCase()) throw otherRollout();
        if (pass !== null) return;
        const model = await reachModel(dependencies, caller, modelId);
        const rollout = await dependencies.rollouts.find(model, id);
        request.caller = { ...caller, rollout: rolloutPass(rollout, dependencies.rollouts, "conflict") };
      });
      addAnsweringRoute(scope, dependencies, answering, chatCompletionRoute);
      addAnsweringRoute(scope, dependencies, answering, completionRoute);
      addAnsweringRoute(scope, dependencies, answering, responseRoute);
      addAnsweringRoute(scope, dependencies, answering, messageRoute);
      addAnsweringRoute(scope, dependencies, answering, ollamaChatRoute(dependencies));
      addAnsweringRoute(scope, dependencies, answering, ollamaGenerateRoute(dependencies));
      tokenCountRoute(scope, dependencies, answering.bodies);
      servedModelRoutes(scope, dependencies);
    },
    { prefix },
  );
}

function otherRollout(): ServiceError {
  const message = "This key belongs to another rollout. Use the base URL and the key of the same rollout.";
  return new ServiceError({ code: "forbidden", message });
}
