// All routes of the Tinker API, with which programs train models in their own training loop.
import type { FastifyInstance } from "fastify";
import type { HttpDependencies } from "../dependencies.ts";
import { computeRoutes } from "./compute-routes.ts";
import type { DownloadLinks } from "./download-links.ts";
import { downloadRoutes } from "./download-routes.ts";
import { futureRoute } from "./future-route.ts";
import { modelRoutes } from "./model-routes.ts";
import { runRoutes } from "./run-routes.ts";
import { samplingRoutes } from "./sampling-routes.ts";
import { sessionRoutes } from "./session-routes.ts";

export function tinkerRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  links: DownloadLinks,
): void {
  sessionRoutes(app, dependencies);
  modelRoutes(app, dependencies);
  computeRoutes(app, dependencies);
  futureRoute(app, dependencies);
  samplingRoutes(app, dependencies);
  runRoutes(app, dependencies);
  downloadRoutes(app, dependencies, links);
}
