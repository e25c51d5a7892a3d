// Projects, named `<entity>/<project>`. A project exists as soon as a key that may access the entity uses it.
import { foreignMessage, mayReach, type Caller } from "./access.ts";
import { quoted, ServiceError } from "./service-error.ts";
import { isStorable } from "./text/storable.ts";

const projectIdPattern = /^([^/\s]{1,128})\/([^/\s]{1,128})$/;

export interface ProjectName {
  readonly entity: string;
  readonly project: string;
}

/** Splits a project id `<entity>/<project>` into its parts; null if the text has another form. */
export function parseProjectId(text: string): ProjectName | null {
  const match = projectIdPattern.exec(text);
  return match ? { entity: match[1], project: match[2] } : null;
}

/**
 * Returns the project whose id a caller's request contains, after checking the caller's access.
 *
 * @param location location of the id in the request
 * @throws ServiceError `invalid` for a malformed id, `forbidden` for a project that the caller may not access
 */
export function reachProject(
  projectId: string,
  caller: Caller,
  location: readonly string[] = ["project_id"],
): ProjectName {
  const name = parseProjectId(projectId);
  if (name === null || !isStorable(projectId)) {
    const message = `project_id is ${quoted(projectId)}; it must be <entity>/<project>, each of 1 to 128 characters without spaces`;
    throw new ServiceError({ code: "invalid", faults: [{ location, message, type: "value_error" }] });
  }
  if (mayReach(caller, name)) return name;
  const message = foreignMessage(caller, name, `The project ${quoted(projectId)}`);
  throw new ServiceError({ code: "forbidden", faults: [{ location, message, type: "forbidden" }] });
}
