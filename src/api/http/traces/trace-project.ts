// Finds the project of a request with traces. Langfuse's libraries send its name as their public key; other programs
// send it in a header or as the name of their service.
import type { FastifyRequest } from "fastify";
import { reachProject } from "../../../base/domain/project.ts";
import { projectIdOf } from "../../wire/otlp/project-name.ts";
import { locate } from "../../wire/field-paths.ts";

/**
 * Returns the id of the project whose name is the user name in the Basic credentials.
 *
 * @throws ServiceError `invalid`, `forbidden`
 */
export function langfuseProject({ headers, caller }: FastifyRequest): string {
  const [scheme = "", credentials = ""] = (headers.authorization ?? "").trim().split(/\s+/);
  const text = scheme.toLowerCase() === "basic" ? Buffer.from(credentials, "base64").toString("utf8") : "";
  const name = text.slice(0, Math.max(0, text.indexOf(":")));
  return reached(projectIdOf(name === "" ? (caller.project ?? "traces") : name, caller.entity), {
    caller,
    place: "authorization",
  });
}

/**
 * Returns the id of the project that the header `x-hone-project` names, or else of the key's only project; null if
 * there is neither.
 *
 * @throws ServiceError `invalid`, `forbidden`
 */
export function headerProject({ headers, caller }: FastifyRequest): string | null {
  const name = headers["x-hone-project"];
  const project = typeof name === "string" && name !== "" ? name : caller.project;
  if (project === null) return null;
  return reached(projectIdOf(project, caller.entity), { caller, place: "x-hone-project" });
}

function reached(
  projectId: string,
  { caller, place }: { readonly caller: FastifyRequest["caller"]; readonly place: string },
): string {
  try {
    const { entity, project } = reachProject(projectId, caller);
    return `${entity}/${project}`;
  } catch (error) {
    throw locate(error, { project_id: ["header", place] });
  }
}
