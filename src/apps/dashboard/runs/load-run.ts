// Loads a run of the view Runs: a model with the curves over its versions, or a job with the curves over its steps.
import type { TrainingEvent, TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import type { Run } from "../charts/curve.ts";
import { shortId } from "../components/short-id.ts";
import { addressOf } from "../router.ts";
import { jobSettings } from "../jobs/job-settings.ts";
import { kindTitle } from "../views/job-list.ts";
import { newestVersions } from "../views/newest-versions.ts";
import { stepCurves } from "../jobs/step-curves.ts";
import { versionAddresses } from "./version-address.ts";
import { curvesOf } from "../views/version-curves.ts";

export type RunKind = "models" | "jobs";

export interface LoadedRun extends Run {
  readonly address: string;
  /** Job of the run: the job itself, or the job that made the newest version of the model. */
  readonly job: TrainingJob | null;
  readonly settings: ReadonlyMap<string, string>;
  /** Returns the address of the trajectories behind a metric of a version or step. */
  readonly addressAt: (step: number, metric: string) => string;
}

/** Maximum number of steps of a job that are shown. */
const stepsMax = 5000;

/** @throws HoneError `not_found` if the server has no such model or job */
export async function loadRun(
  hone: Hone,
  kind: RunKind,
  { id, colour }: Pick<LoadedRun, "id" | "colour">,
  signal: AbortSignal,
): Promise<LoadedRun> {
  const run = kind === "jobs" ? await jobRun(hone, id, signal) : await modelRun(hone, id, signal);
  return { ...run, colour };
}

async function modelRun(hone: Hone, id: string, signal: AbortSignal): Promise<Omit<LoadedRun, "colour">> {
  const [model, versions] = await Promise.all([
    hone.models.get(id, { signal }),
    newestVersions(hone, id, signal),
  ]);
  const lastJobId = versions.findLast(({ job_id: jobId }) => jobId !== null)?.job_id ?? null;
  const job = lastJobId === null ? null : await hone.jobs.get(lastJobId, { signal });
  return {
    id,
    name: model.name,
    address: addressOf("models", [id]),
    job,
    curves: curvesOf(versions),
    settings: new Map([
      ["base model", model.base_model],
      ["versions", String(versions.at(-1)?.step ?? 0)],
      ...(job === null ? [] : settingsOf(job)),
    ]),
    addressAt: versionAddresses(id, versions),
  };
}

async function jobRun(hone: Hone, id: string, signal: AbortSignal): Promise<Omit<LoadedRun, "colour">> {
  const job = await hone.jobs.get(id, { signal });
  const steps: TrainingEvent[] = [];
  for await (const event of hone.jobs.events(id, { limit: 100 }, { signal })) {
    if (event.type === "gradient_step") steps.push(event);
    if (steps.length === stepsMax) break;
  }
  const name = job.model?.split("/").at(-1) ?? "deleted model";
  return {
    id,
    name: `${name} ${shortId(id)}`,
    address: addressOf("jobs", [id]),
    job,
    curves: stepCurves(steps),
    settings: new Map(settingsOf(job)),
    addressAt: () => addressOf("jobs", [id, "groups"]),
  };
}

/** Returns the settings of a job, with the size of its data. */
function settingsOf(job: TrainingJob): readonly (readonly [string, string])[] {
  const { counts, kind } = job;
  return [
    ["kind", kindTitle(kind)],
    ...jobSettings(job).map(({ name, text }) => [name, text] as const),
    ...(counts === null
      ? []
      : ([
          ["groups", `${counts.groups_trainable} of ${counts.groups_submitted}`],
          ["sequences", String(counts.sequences)],
          ["tokens", String(counts.trainable_tokens)],
        ] as const)),
  ];
}
