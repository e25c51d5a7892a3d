// Adds a run to the view Runs.
import type { Hone } from "../../client/hone.ts";
import { shortId } from "../components/short-id.ts";
import { useLoaded } from "../use-loaded.ts";
import type { RunKind } from "./load-run.ts";

/** Number of the newest models or jobs that are offered. */
const offeredCount = 100;

export function RunPicker({
  hone,
  kind,
  ids,
  isFull,
  onAdd,
}: {
  readonly hone: Hone;
  readonly kind: RunKind;
  /** Runs that are shown already. */
  readonly ids: readonly string[];
  readonly isFull: boolean;
  readonly onAdd: (id: string) => void;
}) {
  const offered = useLoaded((signal) => offers(hone, kind, signal), [hone, kind]);
  const choices = (offered.value ?? []).filter(({ id }) => !ids.includes(id));
  return (
    <label>
      Add a {kind === "jobs" ? "job" : "model"}
      <select
        value=""
        disabled={isFull || choices.length === 0}
        onChange={(event) => onAdd(event.currentTarget.value)}
      >
        <option value="">{choices.length === 0 ? "no others" : "choose …"}</option>
        {choices.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

async function offers(
  hone: Hone,
  kind: RunKind,
  signal: AbortSignal,
): Promise<readonly { readonly id: string; readonly name: string }[]> {
  if (kind === "models") {
    const page = await hone.models.list({ limit: offeredCount, order: "desc" }, { signal }).first();
    return page.data.map(({ id, project, name }) => ({ id, name: `${project}/${name}` }));
  }
  const page = await hone.jobs.list({ limit: offeredCount }, { signal }).first();
  return page.data.map(({ id, model, state, kind: trains }) => ({
    id,
    name: `${model ?? "deleted model"} · ${trains} ${shortId(id)} · ${state}`,
  }));
}
