// Reads a model's training data, one job at a time, for replay on another server. Changes nothing on the source
// server.
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { Hone } from "../../client/hone.ts";
import type {
  ExperimentalTrainingConfig,
  ModelObject,
  TrainingJob,
  TrainingJobCreate,
  Trajectory,
  TrajectoryGroup,
} from "../../client/api.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

/**
 * Returns the chain of jobs that led to a version, oldest first. Each job started from the version that the job before
 * it made.
 *
 * @param step step of the version, at least 1
 * @throws ServiceError `conflict` if one of the jobs cannot be replayed, with the reason and the remedy
 */
export async function listJobHistory(
  client: Hone,
  model: ModelObject,
  step: number,
): Promise<readonly TrainingJob[]> {
  const jobs = await client.jobs.list({ model_id: model.id, state: "succeeded" }).all();
  const madeBy = new Map(
    jobs.filter(({ replay_of: of }) => of === null).map((job) => [job.result_step, job]),
  );
  const chain: TrainingJob[] = [];
  for (let at = step; at > 0;) {
    const job = madeBy.get(at);
    if (job === undefined) throw cannotReplay(at, "was imported or copied, so no job can reproduce it");
    if (job.kind !== "rl")
      throw cannotReplay(at, `was made by a job of kind ${job.kind}, whose training data cannot be exported`);
    if (job.data_removed_at !== null)
      throw cannotReplay(at, `was made by job ${job.id}, whose data were removed at ${job.data_removed_at}`);
    chain.unshift(job);
    at = (await startOf(client, model, job)) ?? at - 1;
  }
  return chain;
}

/** Returns the step of the version that a job started from; null if the job has no stored data. */
async function startOf(client: Hone, model: ModelObject, job: TrainingJob): Promise<number | null> {
  const query = { source: "jobs", job_id: job.id, limit: 1 } as const;
  for await (const row of client.trajectories.list(model.id, query)) return row.step;
  return null;
}

/** Returns the request that created a job, without the model and the base precision, which may differ on the target. */
export async function toJobRequest(
  client: Hone,
  model: ModelObject,
  job: TrainingJob,
): Promise<Omit<TrainingJobCreate, "model_id">> {
  const query = { source: "jobs", job_id: job.id } as const;
  const groups: {
    readonly group: Omit<TrajectoryGroup, "trajectories">;
    readonly trajectories: Trajectory[];
  }[] = [];
  for await (const line of linesOf(client, model, { ...query, format: "groups" }))
    groups.push({ group: omitLocation(line, groupPlace), trajectories: [] });
  for await (const line of linesOf(client, model, { ...query, format: "jsonl" }))
    groups[line["group_index"] as number].trajectories.push(omitLocation(line, rowPlace));
  const { base_precision: _precision, ...config } = (job.experimental_config ??
    {}) as ExperimentalTrainingConfig;
  return {
    trajectory_groups: groups.map(({ group, trajectories }) => ({ ...group, trajectories })),
    experimental_config: config,
  };
}

type Line = Readonly<Record<string, unknown>>;

async function* linesOf(
  client: Hone,
  model: ModelObject,
  query: Parameters<Hone["trajectories"]["export"]>[1],
): AsyncGenerator<Line, void> {
  const bytes = Readable.from(await client.trajectories.export(model.id, query));
  for await (const text of createInterface({ input: bytes, crlfDelay: Infinity }))
    if (text !== "") yield JSON.parse(text) as Line;
}

/** Fields of an exported line that say where its data was stored. They are not part of the training request. */
const place = ["source", "source_id", "split", "step", "recorded_at", "group_index"];
const groupPlace: ReadonlySet<string> = new Set([...place, "trajectory_count", "extra"]);
const rowPlace: ReadonlySet<string> = new Set([...place, "id", "index", "group_metadata", "group_metrics"]);

/**
 * Removes the location fields. A group's additional client fields, which the export nests in `extra`, become top-level
 * fields again.
 */
function omitLocation(line: Line, names: ReadonlySet<string>): Line {
  const own = names.has("extra") ? (line["extra"] as Line | undefined) : undefined;
  return { ...Object.fromEntries(Object.entries(line).filter(([name]) => !names.has(name))), ...own };
}

function cannotReplay(step: number, why: string): ServiceError {
  return new ServiceError({
    code: "conflict",
    message: `Version ${step} ${why}. Move the model with --merged <folder>, or move an earlier version.`,
  });
}
