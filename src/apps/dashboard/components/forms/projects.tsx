// Projects of the models that the user can read, and a field for choosing one.
import { useId } from "preact/hooks";
import type { Hone } from "../../../client/hone.ts";
import { type Loaded, useLoaded } from "../../use-loaded.ts";

/** Loads the projects of the first 100 models, as `<entity>/<project>`. */
export function useProjects(hone: Hone): Loaded<readonly string[]> {
  return useLoaded(
    async (signal) => {
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
  readonly value: string;
  readonly isRequired?: boolean;
  readonly onChange?: (project: string) => void;
}) {
  // The form of a new queue is open over the filter, which has the same field.
  const id = useId();
  return (
    <>
      <label>
        Project
        <input
          name="project"
          list={id}
          key={value}
          defaultValue={value}
          placeholder="entity/project"
          required={isRequired}
          onChange={(event) => onChange?.(event.currentTarget.value.trim())}
        />
      </label>
      <datalist id={id}>
        {projects.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}
