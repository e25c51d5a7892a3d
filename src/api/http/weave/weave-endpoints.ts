// Adds endpoints with the documentation section, credentials and field paths of Weave's API.
import type { FastifyInstance, RouteShorthandOptions } from "fastify";
import { endpoints } from "../endpoints/endpoint.ts";

export function weaveEndpoints(app: FastifyInstance, options: RouteShorthandOptions = {}) {
  return endpoints(app, {
    tag: "weave",
    scheme: "basic",
    // By default, a missing object is reported at the field `digest`, because most routes find objects by their digest.
    fieldPaths: { project_id: ["body", "project_id"], not_found: ["body", "digest"] },
    options,
  });
}

/** Documentation of the path parameters that identify a project. */
export const projectInPath = {
  params: {
    type: "object",
    properties: {
      entity: { type: "string", description: "Entity of the project." },
      project: { type: "string", description: "Name of the project." },
    },
  },
} as const;
