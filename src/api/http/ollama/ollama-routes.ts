// All routes of Ollama's API.
import type { FastifyInstance } from "fastify";
import type { HttpDependencies } from "../dependencies.ts";
import { addAnsweringRoute, type Answering } from "../routes/answer-chat.ts";
import { ollamaChatRoute, ollamaGenerateRoute } from "./chat-routes.ts";
import { ollamaEmbedRoutes } from "./embed-routes.ts";
import { ollamaLibraryRoutes } from "./library-routes.ts";
import { ollamaModelRoutes } from "./model-routes.ts";

export function ollamaRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  answering: Answering,
): void {
  addAnsweringRoute(app, dependencies, answering, ollamaChatRoute(dependencies));
  addAnsweringRoute(app, dependencies, answering, ollamaGenerateRoute(dependencies));
  ollamaEmbedRoutes(app, dependencies, answering);
  ollamaModelRoutes(app, dependencies);
  ollamaLibraryRoutes(app, dependencies);
}
