// Adds a run to the view Runs.
import type { Hone } from "../../client/hone.ts";
import { Failure } from "../components/forms/failure.tsx";
import { ModelField } from "../components/forms/model-field.tsx";
import { modelNamed } from "../components/forms/model-named.ts";
import { useAction } from "../components/forms/use-action.ts";
import { shortId } from "../components/short-id.ts";
import { useLoaded } from "../use-loaded.ts";
import { kindTitle } from "../views/job-list.ts";
import type { RunKind } from "./load-run.ts";

/** Number of the newest jobs that are offered. */
const offeredCount = 100;

interface PickerProperties {
  readonly hone: Hone;
  /** Runs that are shown already. */
  readonly ids: readonly string[];
  readonly isFull: boolean;
  readonly onAdd: (id: string) => void;
}

export function RunPicker({ kind, ...properties }: PickerProperties & { readonly kind: RunKind }) {
  return kind === "jobs" ? <JobPicker {...properties} /> : <ModelPicker {...properties} />;
}

function ModelPicker({ hone, ids, isFull, onAdd }: PickerProperties) {
  const { failure, run } = useAction();
  const add = async (name: string): Promise<void> => {
    const { id } = await modelNamed(hone, name);
    if (!ids.includes(id)) onAdd(id);
  };
  return (
    <>
      <ModelField
        key={ids.join()}
        hone={hone}
        label="Add a model"
        isOff={isFull}
        onChoose={(name) => name !== "" && run(() => add(name))}
      />
      <Failure of={failure} />
    </>
  );
}

function JobPicker({ hone, ids, isFull, onAdd }: PickerProperties) {
  const offered = useLoaded(
    async (signal) => (await hone.jobs.list({ limit: offeredCount }, { signal }).first()).data,
    [hone],
  );
  const choices = (offered.value ?? []).filter(({ id }) => !ids.includes(id));
  return (
    <label>
      Add a job
      <select
        value=""
        disabled={isFull || choices.length === 0}
        onChange={(event) => onAdd(event.currentTarget.value)}
      >
        <option value="">{choices.length === 0 ? "no others" : "choose …"}</option>
        {choices.map(({ id, model, kind, state }) => (
          <option key={id} value={id}>
            {model ?? "deleted model"} · {kindTitle(kind)} {shortId(id)} · {state}
          </option>
        ))}
      </select>
    </label>
  );
}
