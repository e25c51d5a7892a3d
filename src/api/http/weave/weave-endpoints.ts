// Endpoints with the section, credentials and field paths of Weave's API.
import type { FastifyInstance, RouteShorthandOptions } from "fastify";
import { endpoints } from "../endpoints/endpoint.ts";

export function weaveEndpoints(app: FastifyInstance, options: RouteShorthandOptions = {}) {
  return endpoints(app, {
    tag: "weave",
    scheme: "basic",
    // An object that was not found was named by its digest, unless a route says otherwise.
    fieldPaths: { project_id: ["body", "project_id"], not_found: ["body", "digest"] },
    options,
  });
}

/** Documentation of a path that names a project. */
export const projectInPath = {
  params: {
    type: "object",
    properties: {
      entity: { type: "string", description: "Entity of the project." },
      project: { type: "string", description: "Name of the project." },
    },
  },
} as const;
