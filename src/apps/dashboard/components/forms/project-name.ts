// Names of projects, as users type them and as an address contains them.

/** Parses `entity/project`, or `project` for a project of the key's entity. */
export function projectOf(text: string): { readonly entity?: string; readonly project: string } {
  const [first = "", ...rest] = text.split("/");
  return rest.length === 0 ? { project: first } : { entity: first, project: rest.join("/") };
}

/**
 * Returns the project as `<entity>/<project>`; empty for an empty text.
 *
 * @param typed the full name, or only the name of a project of the key's entity
 * @param entity entity of the key
 */
export function fullProjectName(typed: string, entity: string): string {
  const name = typed.trim().replace(/^\/+|\/+$/g, "");
  return name === "" || name.includes("/") ? name : `${entity}/${name}`;
}

/** Returns the projects of served models with names such as `entity/project/model:step3`, each once. */
export function projectsOfModels(names: readonly string[]): readonly string[] {
  const projects = names.map((name) => name.split("/")).filter((parts) => parts.length === 3);
  return [...new Set(projects.map(([entity = "", project = ""]) => `${entity}/${project}`))];
}
