// View of a trained model: a tab with its versions and their curves, one with its jobs, and one with its learning.
import { useMemo } from "preact/hooks";
import type { Checkpoint, ModelObject } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { ChartBoard } from "../charts/chart-board.tsx";
import { Facts, Shown, When } from "../components/shown.tsx";
import { LearningPanel } from "../learning/learning-panel.tsx";
import { jobsChanged } from "../live.ts";
import { ModelPage } from "../model/model-page.tsx";
import { nameOf } from "../model/model-path.ts";
import { RecentJobs } from "../overview/recent-jobs.tsx";
import { versionAddresses } from "../runs/version-address.ts";
import { useLoaded } from "../use-loaded.ts";
import { VersionTable } from "../versions/version-table.tsx";
import { newestVersions } from "./newest-versions.ts";
import { curvesOf } from "./version-curves.ts";

const everyMs = 5000;
/** Number of the newest jobs that the tab Jobs shows. */
const jobsMax = 50;

export function ModelView({
  hone,
  id,
  tab,
}: {
  readonly hone: Hone;
  readonly id: string;
  /** Name of the tab in the address; undefined for the versions. */
  readonly tab: string | undefined;
}) {
  const model = useLoaded((signal) => hone.models.get(id, { signal }), [hone, id]);
  const current = tab === "jobs" || tab === "learning" ? tab : "versions";
  return (
    <ModelPage id={id} model={model.value} tab={current}>
      <Shown loaded={model}>
        {(value) =>
          current === "jobs" ? (
            <Jobs hone={hone} model={value} />
          ) : current === "learning" ? (
            <LearningPanel hone={hone} model={value} />
          ) : (
            <Versions hone={hone} model={value} />
          )
        }
      </Shown>
    </ModelPage>
  );
}

function Versions({ hone, model }: { readonly hone: Hone; readonly model: ModelObject }) {
  const { id } = model;
  const versions = useLoaded((signal) => newestVersions(hone, id, signal), [hone, id], everyMs);
  return (
    <>
      <Facts
        of={[
          ["entity", model.entity],
          ["base", model.base_model],
          ["registered", <When at={model.created_at} />],
          ["model name", <code>{nameOf(model)}</code>],
        ]}
      />
      <Shown loaded={versions}>
        {(steps) => (
          <>
            <Curves modelId={id} versions={steps} />
            <VersionTable hone={hone} model={model} versions={steps} onChange={versions.reload} />
          </>
        )}
      </Shown>
    </>
  );
}

function Jobs({ hone, model }: { readonly hone: Hone; readonly model: ModelObject }) {
  const { id } = model;
  const jobs = useLoaded(
    (signal) => hone.jobs.list({ model_id: id, limit: jobsMax }, { signal }).first(),
    [hone, id, jobsChanged.value],
  );
  return <RecentJobs jobs={jobs} model={nameOf(model)} />;
}

function Curves({
  modelId,
  versions,
}: {
  readonly modelId: string;
  readonly versions: readonly Checkpoint[];
}) {
  const curves = useMemo(() => curvesOf(versions), [versions]);
  if (curves.length === 0) return null;
  const addressAt = versionAddresses(modelId, versions);
  return (
    <section aria-labelledby="curves">
      <h2 id="curves">Curves over versions</h2>
      <p class="muted">Click a point to read the trajectories behind it.</p>
      <ChartBoard
        curves={curves}
        stepName="version"
        addressOfPoint={(_, step, label) => addressAt(step, label)}
      />
    </section>
  );
}
