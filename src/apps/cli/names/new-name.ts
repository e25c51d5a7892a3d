// The name of a new model or rule on the command line: the words `project name`, or one word `project/name`.
import { invalid, quoted } from "../../../base/domain/service-error.ts";

/** @throws ServiceError `invalid` for one word that is not `project/name` */
export function newName(
  project: string,
  name: string | undefined,
): { readonly project: string; readonly name: string } {
  if (name !== undefined) return { project, name };
  const parts = project.split("/");
  if (parts.length !== 2 || parts.includes(""))
    throw invalid(`${quoted(project)} is not a name; write project/name.`);
  return { project: parts[0], name: parts[1] };
}
