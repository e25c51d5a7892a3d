// Projects of the models that the user can read, and a field for choosing one.
import { useId, useState } from "preact/hooks";
import type { Hone } from "../../../client/hone.ts";
import { may, session } from "../../session.ts";
import { type Loaded, useLoaded } from "../../use-loaded.ts";
import { fullProjectName, projectsOfModels } from "./project-name.ts";

/** Returns the project that the user named, with the entity of the key if none was named. */
export function projectNamed(typed: string): string {
  return fullProjectName(typed, session.value?.key.entity ?? "");
}

/**
 * Loads the projects of the first 100 models, as `<entity>/<project>`. A key that may not list these models gets the
 * projects of the first models that it can chat with.
 */
export function useProjects(hone: Hone): Loaded<readonly string[]> {
  return useLoaded(
    async (signal) => {
      if (!may("readModels"))
        return projectsOfModels((await hone.served.find("", { signal })).map(({ id }) => id));
      const { data } = await hone.models.list({ limit: 100 }, { signal }).first();
      return [...new Set(data.map(({ entity, project }) => `${entity}/${project}`))];
    },
    [hone],
  );
}

export function ProjectField({
  projects,
  value,
  isRequired = false,
  onChange,
}: {
  readonly projects: readonly string[];
  /** Project that the field shows until the user changes it. It may change while the form is open. */
  readonly value: string;
  readonly isRequired?: boolean;
  readonly onChange?: (project: string) => void;
}) {
  // The form of a new queue is open over the filter, which has the same field.
  const id = useId();
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <>
      <label>
        Project
        <input
          name="project"
          list={id}
          value={typed ?? value}
          placeholder="project or entity/project"
          required={isRequired}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onChange={(event) => onChange?.(event.currentTarget.value.trim())}
        />
      </label>
      <ProjectOptions id={id} projects={projects} />
    </>
  );
}

/** The projects that a field whose `list` is the id offers. */
export function ProjectOptions({
  id,
  projects,
}: {
  readonly id: string;
  readonly projects: readonly string[];
}) {
  return (
    <datalist id={id}>
      {projects.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
