// View that overlays the curves of several models or jobs, and compares their settings.
import { useMemo } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { ChartBoard } from "../charts/chart-board.tsx";
import { overlaid, sampleStyle } from "../charts/curve.ts";
import { Empty } from "../components/empty.tsx";
import { Shown, View } from "../components/shown.tsx";
import { fromHere } from "../neighbours/list-place.ts";
import { addressOf, place, replaceQuery } from "../router.ts";
import { loadRun, type LoadedRun, type RunKind } from "../runs/load-run.ts";
import { RunPicker } from "../runs/run-picker.tsx";
import { GroupChoice } from "../runs/group-choice.tsx";
import { groupedCurves, groupRuns } from "../runs/run-groups.ts";
import { RunList } from "../runs/run-list.tsx";
import { runPlaces, withoutRun, withRun } from "../runs/run-places.ts";
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
  const asked = query.get("ids") ?? "";
  const places = runPlaces(asked);
  const ids = [...places.keys()].slice(0, runsMax);
  const loaded = useLoaded(
    (signal) =>
      Promise.all(ids.map((id) => loadRun(hone, kind, { id, colour: places.get(id) ?? 0 }, signal))),
    [hone, kind, asked, runsMax],
    everyMs,
  );
  const group = (name: string): void =>
    replaceQuery((changed) => (name === "" ? changed.delete("group") : changed.set("group", name)));
  const choose = (chosen: string): void => replaceQuery((changed) => changed.set("ids", chosen));
  const remove = (id: string): void => choose(withoutRun(asked, id));
  return (
    <View title="Runs" lead={`The curves and settings of several ${kind} in the same charts.`}>
      {places.size > runsMax && <p class="warning">Only the first {runsMax} runs are shown.</p>}
      <RunPicker
        hone={hone}
        kind={kind}
        ids={ids}
        isFull={ids.length >= runsMax}
        onAdd={(id) => choose(withRun(asked, id))}
      />
      {ids.length === 0 && <NoRuns kind={kind} />}
      <Shown loaded={loaded}>
        {(runs) =>
          runs.length > 0 && (
            <>
              <GroupChoice runs={runs} value={setting} onChange={group} />
              {setting === "" ? (
                <RunList runs={runs} hasSamples onRemove={remove} />
              ) : (
                groupRuns(runs, setting).map(({ name, colour, runs: members }) => (
                  <div key={name} class="run-group">
                    <strong class="run" style={sampleStyle(colour)}>
                      {name}
                    </strong>
                    <RunList runs={members} label={name} onRemove={remove} />
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
  const groups = useMemo(() => (setting === "" ? [] : groupRuns(runs, setting)), [runs, setting]);
  const curves = useMemo(
    () => (setting === "" ? overlaid(runs) : groupedCurves(groups)),
    [runs, setting, groups],
  );
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
                  ? pointAddress(runs.find(({ colour }) => colour === run)?.addressAt(step, label))
                  : null
              }
            />
          </>
        )}
      </section>
      <SettingsTable
        runs={runs}
        colourOf={(run) => groups.find(({ runs: members }) => members.includes(run))?.colour ?? run.colour}
      />
    </>
  );
}
