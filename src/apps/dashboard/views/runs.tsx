// View that overlays the curves of several models or jobs, and compares their settings.
import { useMemo } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { ChartBoard } from "../charts/chart-board.tsx";
import { colourCount, overlaid, runColours } from "../charts/curve.ts";
import { Shown, View, WideTable } from "../components/shown.tsx";
import { addressOf, place, replaceQuery } from "../router.ts";
import { loadRun, type LoadedRun, type RunKind } from "../runs/load-run.ts";
import { RunPicker } from "../runs/run-picker.tsx";
import { comparedSettings } from "../runs/run-settings.ts";
import { counted } from "../components/numbers.ts";
import { useLoaded } from "../use-loaded.ts";

const everyMs = 10_000;
/** Maximum number of runs; with more, the lines can no longer be told apart. */
const runsMax = 16;

export function Runs({ hone }: { readonly hone: Hone }) {
  const { query } = place.value;
  const kind: RunKind = query.get("of") === "jobs" ? "jobs" : "models";
  const asked = (query.get("ids") ?? "").split(",").filter((id) => id !== "");
  const ids = asked.slice(0, runsMax);
  const loaded = useLoaded(
    (signal) => Promise.all(ids.map((id) => loadRun(hone, kind, id, signal))),
    [hone, kind, ids.join()],
    everyMs,
  );
  const colours = runColours(ids);
  const choose = (chosen: readonly string[]): void =>
    replaceQuery((changed) => changed.set("ids", chosen.join()));
  return (
    <View title="Runs" lead={`The curves and settings of several ${kind} in the same charts.`}>
      {asked.length > runsMax && <p class="warning">Only the first {runsMax} runs are shown.</p>}
      <RunPicker
        hone={hone}
        kind={kind}
        ids={ids}
        isFull={ids.length >= runsMax}
        onAdd={(id) => choose([...ids, id])}
      />
      <Shown loaded={loaded}>
        {(runs) => (
          <>
            <ul class="chart-runs" aria-label="Runs">
              {runs.map(({ id, name, address, state }) => (
                <li key={id} class={classOf(colours, id)}>
                  <a href={address}>{name}</a>
                  {state !== null && state !== "succeeded" && <span class="muted"> {state}</span>}
                  <button
                    type="button"
                    class="plain"
                    aria-label={`Remove ${name}`}
                    onClick={() => choose(ids.filter((other) => other !== id))}
                  >
                    ×
                  </button>
                </li>
              ))}
            </ul>
            {runs.length > 0 && <Comparison runs={runs} />}
          </>
        )}
      </Shown>
    </View>
  );
}

function Comparison({ runs }: { readonly runs: readonly LoadedRun[] }) {
  const curves = useMemo(() => overlaid(runs), [runs]);
  const colours = runColours(runs.map(({ id }) => id));
  return (
    <>
      <section aria-labelledby="curves">
        <h2 id="curves">Curves</h2>
        {curves.length === 0 ? (
          <p>These runs have no curves yet.</p>
        ) : (
          <>
            <p class="muted">Click a point to read the trajectories behind it.</p>
            <ChartBoard
              curves={curves}
              addressOfPoint={(run, step, label) =>
                runs.find(({ id }) => colours.get(id) === run)?.addressAt(step, label) ?? null
              }
            />
          </>
        )}
      </section>
      <Settings runs={runs} />
    </>
  );
}

function Settings({ runs }: { readonly runs: readonly LoadedRun[] }) {
  const settings = comparedSettings(runs);
  const colours = runColours(runs.map(({ id }) => id));
  const differing = settings.filter(({ isEqual }) => !isEqual);
  const equal = settings.filter(({ isEqual }) => isEqual);
  return (
    <section aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      {differing.length === 0 ? (
        <p>All settings are equal.</p>
      ) : (
        <WideTable label="Settings that differ">
          <thead>
            <tr>
              <th scope="col">setting</th>
              {runs.map(({ id, name }) => (
                <th key={id} scope="col">
                  <span class={classOf(colours, id)}>{name}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {differing.map(({ name, values }) => (
              <tr key={name}>
                <th scope="row" title={name}>
                  {name}
                </th>
                {values.map((value, index) => (
                  <td key={index}>{value ?? "–"}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </WideTable>
      )}
      {equal.length > 0 && (
        <details>
          <summary>{counted(equal.length, "equal setting")}</summary>
          <ul>
            {equal.map(({ name, values }) => (
              <li key={name}>
                {name} <strong>{values[0]}</strong>
              </li>
            ))}
          </ul>
        </details>
      )}
      {runs.length > 0 && runs.every(({ address }) => address.startsWith(addressOf("models"))) && (
        <p class="muted">The settings of a model are those of its last job.</p>
      )}
    </section>
  );
}

function classOf(colours: ReadonlyMap<string, number>, id: string): string {
  return `run run-${(colours.get(id) ?? 0) % colourCount}`;
}
