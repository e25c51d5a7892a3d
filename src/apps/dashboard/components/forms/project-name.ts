// Splits the name of a project, as users type it, into the fields of a request.

/** Parses `entity/project`, or `project` for a project of the key's entity. */
export function projectOf(text: string): { readonly entity?: string; readonly project: string } {
  const [first = "", ...rest] = text.split("/");
  return rest.length === 0 ? { project: first } : { entity: first, project: rest.join("/") };
}
