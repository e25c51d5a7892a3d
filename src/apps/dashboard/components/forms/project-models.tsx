// Field for choosing one of a project's trained models.
import type { Hone } from "../../../client/hone.ts";
import { useLoaded } from "../../use-loaded.ts";
import { projectOf } from "./project-name.ts";

/** Maximum number of models in the list. */
const limit = 100;

export function ProjectModels({
  hone,
  project,
  label,
  none,
  isRequired = false,
}: {
  readonly hone: Hone;
  readonly project: string;
  readonly label: string;
  /** Text of the empty choice. */
  readonly none: string;
  readonly isRequired?: boolean;
}) {
  const models = useLoaded(
    async (signal) =>
      project === ""
        ? []
        : (await hone.models.list({ ...projectOf(project), limit }, { signal }).first()).data,
    [hone, project],
  );
  return (
    <label>
      {label}
      <select name="model" required={isRequired}>
        <option value="">{none}</option>
        {(models.value ?? []).map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
