// Creates a job from the stored data of an earlier job, with other settings.
import type { BodyOf } from "../../client/calls/calls.ts";
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import type { Settings } from "./settings.ts";

type Line = Readonly<Record<string, unknown>>;
type JobBody = BodyOf<"POST /v1/preview/training-jobs">;

/** Maximum size of a job's data, which the page holds in memory. */
const bytesMax = 64_000_000;

/** Settings of jobs of each kind: the field of the job, and the names that the form offers. */
const kinds = {
  rl: { configOf: (job: TrainingJob) => job.experimental_config, form: "rl" },
  sft: { configOf: (job: TrainingJob) => job.config, form: "file" },
  preference: { configOf: (job: TrainingJob) => job.preference_config, form: "file" },
} as const;

/** Returns the settings of a job, and which form shows those that the user may change. */
export function settingsOf(job: TrainingJob): { readonly config: Line; readonly form: "rl" | "file" } {
  const { configOf, form } = kinds[job.kind];
  return { config: { ...configOf(job) }, form };
}

/** Returns the settings that were changed for a job. */
export function changedSettings(job: TrainingJob): Line {
  const { config } = settingsOf(job);
  return Object.fromEntries(Object.entries(config).filter(([name]) => job.config_changed.includes(name)));
}

/** Returns the settings of the new job: those that were changed for the earlier job, with the form's changes. */
export function newSettings(job: TrainingJob, changed: Settings): Line {
  const before = changedSettings(job);
  // A list, such as of learning rates, does not fit into the form, whose field is then empty.
  const now = Object.entries(changed).filter(
    ([name, value]) => value !== null || !Array.isArray(before[name]),
  );
  return { ...before, ...Object.fromEntries(now) };
}

/** Returns the learning rate that a job's warnings suggest; null if they suggest none. */
export function suggestedRate({ warnings }: Pick<TrainingJob, "warnings">): string | null {
  return warnings.map((text) => /learning_rate to about ([\d.e-]*\d)/.exec(text)?.[1]).find(Boolean) ?? null;
}

/**
 * Returns the id of the new job.
 *
 * @throws Error if the data of a reinforcement job is too large for the page
 */
export async function trainAgain(hone: Hone, job: TrainingJob, changed: Settings): Promise<string> {
  const { id, kind, model_id } = job;
  const config = newSettings(job, changed);
  const earlier = `hone-job://${id}`;
  if (kind === "sft")
    return (await hone.jobs.createSupervised({ model_id, training_data_url: earlier, config })).id;
  if (kind === "preference")
    return (await hone.jobs.createPreference({ model_id, file_id: earlier, config })).id;
  const [groups, rows] = [await linesOf(hone, job, "groups"), await linesOf(hone, job, "jsonl")];
  if (rows.length === 0) throw new Error("The data of this job is no longer stored.");
  // Safe cast: the server sent the lines of a job that it had accepted.
  const body = {
    model_id,
    trajectory_groups: jobGroups(groups, rows),
    experimental_config: config,
  } as unknown as JobBody;
  return (await hone.jobs.create(body)).id;
}

/** Fields of an exported line that say where its data was stored. They are not part of a request. */
const place = ["source", "source_id", "split", "step", "recorded_at", "group_index"];
const groupPlace = new Set([...place, "trajectory_count", "extra"]);
const rowPlace = new Set([...place, "id", "index", "group_metadata", "group_metrics"]);

/** Builds the trajectory group of a request from stored trajectories of the same group. */
export function trajectoryGroup(rows: readonly Line[], group: Line = {}): object {
  return { ...group, trajectories: rows.map((row) => without(row, rowPlace)) };
}

/** Builds the trajectory groups of a request from the exported groups and the exported trajectories. */
export function jobGroups(groups: readonly Line[], rows: readonly Line[]): readonly object[] {
  return groups.map((group, index) =>
    trajectoryGroup(
      rows.filter((row) => row["group_index"] === index),
      // In an export, `extra` contains the additional fields that the client gave to a group.
      { ...without(group, groupPlace), ...(group["extra"] as Line | undefined) },
    ),
  );
}

function without(line: Line, names: ReadonlySet<string>): Line {
  return Object.fromEntries(Object.entries(line).filter(([name]) => !names.has(name)));
}

async function linesOf(hone: Hone, job: TrainingJob, format: "groups" | "jsonl"): Promise<readonly Line[]> {
  const query = { source: "jobs", job_id: job.id, format } as const;
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let byteCount = 0;
  for await (const bytes of await hone.trajectories.export(job.model_id, query)) {
    byteCount += bytes.length;
    if (byteCount > bytesMax)
      throw new Error(
        `The data of this job is larger than ${bytesMax / 1e6} MB; create the job over the API.`,
      );
    parts.push(decoder.decode(bytes, { stream: true }));
  }
  const lines = parts
    .join("")
    .split("\n")
    .filter((line) => line !== "");
  // Safe cast: an export has a JSON object per line.
  return lines.map((line) => JSON.parse(line) as Line);
}
