// View that overlays the curves of several models or jobs, and compares their settings.
import { useMemo } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { ChartBoard } from "../charts/chart-board.tsx";
import { overlaid, runColours } from "../charts/curve.ts";
import { Empty } from "../components/empty.tsx";
import { Shown, View } from "../components/shown.tsx";
import { fromHere } from "../neighbours/list-place.ts";
import { addressOf, place, replaceQuery } from "../router.ts";
import { loadRun, type LoadedRun, type RunKind } from "../runs/load-run.ts";
import { RunPicker } from "../runs/run-picker.tsx";
import { GroupChoice } from "../runs/group-choice.tsx";
import { groupedCurves, groupRuns } from "../runs/run-groups.ts";
import { RunList, runClass } from "../runs/run-list.tsx";
import { SettingsTable } from "../runs/settings-table.tsx";
import { useLoaded } from "../use-loaded.ts";

const everyMs = 10_000;
/** Maximum number of runs; with more, the lines can no longer be told apart. */
const linesMax = 16;
/** Maximum number of runs that are grouped, because all are loaded again and again. */
const groupedMax = 32;

export function Runs({ hone }: { readonly hone: Hone }) {
  const { query } = place.value;
  const kind: RunKind = query.get("of") === "jobs" ? "jobs" : "models";
  const setting = query.get("group") ?? "";
  const runsMax = setting === "" ? linesMax : groupedMax;
  const asked = (query.get("ids") ?? "").split(",").filter((id) => id !== "");
  const ids = asked.slice(0, runsMax);
  const loaded = useLoaded(
    (signal) => Promise.all(ids.map((id) => loadRun(hone, kind, id, signal))),
    [hone, kind, ids.join()],
    everyMs,
  );
  const colours = runColours(ids);
  const group = (name: string): void =>
    replaceQuery((changed) => (name === "" ? changed.delete("group") : changed.set("group", name)));
  const choose = (chosen: readonly string[]): void =>
    replaceQuery((changed) => changed.set("ids", chosen.join()));
  return (
    <View
      title="Runs"
      path={[kind === "jobs" ? ["Jobs", addressOf("jobs")] : ["Models", addressOf("models")]]}
      lead={`The curves and settings of several ${kind} in the same charts.`}
    >
      {asked.length > runsMax && <p class="warning">Only the first {runsMax} runs are shown.</p>}
      <RunPicker
        hone={hone}
        kind={kind}
        ids={ids}
        isFull={ids.length >= runsMax}
        onAdd={(id) => choose([...ids, id])}
      />
      {ids.length === 0 && <NoRuns kind={kind} />}
      <Shown loaded={loaded}>
        {(runs) =>
          runs.length > 0 && (
            <>
              <GroupChoice runs={runs} value={setting} onChange={group} />
              {setting === "" ? (
                <RunList
                  runs={runs}
                  classOf={({ id }) => runClass(colours.get(id))}
                  onRemove={(id) => choose(ids.filter((other) => other !== id))}
                />
              ) : (
                groupRuns(runs, setting).map(({ name, colour, runs: members }) => (
                  <div key={name} class="run-group">
                    <strong class={runClass(colour)}>{name}</strong>
                    <RunList
                      runs={members}
                      label={name}
                      onRemove={(id) => choose(ids.filter((other) => other !== id))}
                    />
                  </div>
                ))
              )}
              <Comparison kind={kind} runs={runs} setting={setting} />
            </>
          )
        }
      </Shown>
    </View>
  );
}

function NoRuns({ kind }: { readonly kind: RunKind }) {
  return (
    <Empty icon="runs" title={kind === "jobs" ? "No jobs chosen yet" : "No models chosen yet"}>
      Add one above, then others to compare with. You can also select several rows in{" "}
      <a href={addressOf(kind)}>{kind === "jobs" ? "Jobs" : "Models"}</a> and choose <em>Compare</em>.
    </Empty>
  );
}

/** Returns the address behind a point. The groups of a job get the address of this view, for the link back. */
function pointAddress(address: string | undefined): string | null {
  if (address?.startsWith(addressOf("jobs")) !== true) return address ?? null;
  return `${address}?${new URLSearchParams(fromHere()).toString()}`;
}

function Comparison({
  kind,
  runs,
  setting,
}: {
  readonly kind: RunKind;
  readonly runs: readonly LoadedRun[];
  /** Setting by which the runs are grouped; empty for a line per run. */
  readonly setting: string;
}) {
  const curves = useMemo(
    () => (setting === "" ? overlaid(runs) : groupedCurves(groupRuns(runs, setting))),
    [runs, setting],
  );
  const colours = runColours(runs.map(({ id }) => id));
  return (
    <>
      <section aria-labelledby="curves">
        <h2 id="curves">Curves</h2>
        {curves.length === 0 ? (
          <p>These runs have no curves yet.</p>
        ) : (
          <>
            <p class="muted">
              {setting === ""
                ? "Click a point to read the trajectories behind it."
                : "Each line is the mean of a group's runs. The band reaches from the least to the greatest value of these runs."}
            </p>
            <ChartBoard
              curves={curves}
              stepName={kind === "models" ? "version" : "step"}
              addressOfPoint={(run, step, label) =>
                setting === ""
                  ? pointAddress(runs.find(({ id }) => colours.get(id) === run)?.addressAt(step, label))
                  : null
              }
            />
          </>
        )}
      </section>
      <SettingsTable runs={runs} />
    </>
  );
}
