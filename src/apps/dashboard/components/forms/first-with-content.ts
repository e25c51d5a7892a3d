// Chooses the project with which a view opens. Has no side effects.

/** Maximum number of projects that are searched for content, because each needs a request. */
const searchedMax = 10;

/**
 * Returns the project used last if it still has models, or else the newest project with content. If no project has
 * content, returns the newest one; an empty text if there is none.
 *
 * @param projects projects that have models, the newest first
 * @param last project used last; null if unknown
 */
export async function firstWithContent(
  projects: readonly string[],
  last: string | null,
  hasContent: (project: string) => Promise<boolean>,
): Promise<string> {
  if (last !== null && projects.includes(last)) return last;
  const candidates = [...(last === null ? [] : [last]), ...projects];
  for (const project of candidates.slice(0, searchedMax)) if (await hasContent(project)) return project;
  return projects[0] ?? "";
}
