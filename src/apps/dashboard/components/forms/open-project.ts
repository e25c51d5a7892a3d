// Project with which a view opens if its address names none.
import { useEffect } from "preact/hooks";
import type { Hone } from "../../../client/hone.ts";
import { ownName } from "../../session.ts";
import { useLoaded } from "../../use-loaded.ts";
import { firstWithContent } from "./first-with-content.ts";
import { useProjects } from "./projects.tsx";

export interface OpenProject {
  /** Project as `<entity>/<project>`; empty if there is none; null until it is known. */
  readonly project: string | null;
  /** Projects of the models, the newest first. */
  readonly projects: readonly string[];
}

/**
 * Returns the project that the address names, and stores it in this browser. Without such a project, returns the one
 * stored last, or else the newest project with content.
 *
 * @param named project in the address; empty if there is none
 * @param hasContent returns whether the view has something to show for a project
 */
export function useOpenProject(
  hone: Hone,
  named: string,
  hasContent: (project: string, signal: AbortSignal) => Promise<boolean>,
): OpenProject {
  const name = ownName("hone-project");
  useEffect(() => {
    if (named !== "") localStorage.setItem(name, named);
  }, [named]);
  const { value: projects, failure } = useProjects(hone);
  const found = useLoaded(
    async (signal) => {
      if (named !== "" || projects === null) return null;
      return firstWithContent(projects, localStorage.getItem(name), (project) =>
        // An error appears where the view loads the content of the project.
        hasContent(project, signal).catch(() => false),
      );
    },
    [hone, named, projects],
  );
  const opened = failure === null ? found.value : "";
  return { project: named === "" ? opened : named, projects: projects ?? [] };
}
