// Field for choosing a trained model by its name. While the user types, the server searches the names, so the browser
// never loads the names of all models.
import { useId, useState } from "preact/hooks";
import type { Hone } from "../../../client/hone.ts";
import { useLoaded } from "../../use-loaded.ts";
import { shortName } from "./model-named.ts";
import { projectOf } from "./project-name.ts";

/** Maximum number of models that the field offers. */
const limit = 100;

export function ModelField({
  hone,
  label,
  project = "",
  value = "",
  placeholder = "name of a model",
  isRequired = false,
  isOff = false,
  onChoose,
}: {
  readonly hone: Hone;
  readonly label: string;
  /** Project of the models, as `<entity>/<project>`; empty for the models of all projects. */
  readonly project?: string;
  /** Name that the field has before the user changes it. */
  readonly value?: string;
  readonly placeholder?: string;
  readonly isRequired?: boolean;
  readonly isOff?: boolean;
  /** Called with the name when the user has chosen or typed one. */
  readonly onChoose?: (name: string) => void;
}) {
  const list = useId();
  const [typed, setTyped] = useState<string | null>(null);
  const search = typed?.trim() ?? "";
  const query = { ...(project !== "" && projectOf(project)), search, limit, order: "desc" } as const;
  const offered = useLoaded(
    async (signal) => (await hone.models.list(query, { signal }).first()).data.map(shortName),
    [hone, project, search],
  );
  return (
    <label>
      {label}
      <input
        name="model"
        list={list}
        placeholder={placeholder}
        required={isRequired}
        disabled={isOff}
        value={typed ?? value}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onChange={({ currentTarget }) => onChoose?.(currentTarget.value.trim())}
      />
      <datalist id={list}>
        {(offered.value ?? []).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}
