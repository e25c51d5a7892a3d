// What a model learned from, job by job, as it can be sent again. Reads a server, and changes nothing there.
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
 * The jobs that a version comes from, the first one first: each started from the version that the one before made.
 *
 * @param step of the version, at least 1
 * @throws ServiceError `conflict` where one of them cannot be sent again, with the reason and the cure
 */
export async function jobsBehind(
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
    if (job === undefined) throw notAgain(at, "was imported or copied: no job can make it again");
    if (job.kind !== "rl")
      throw notAgain(at, `was made by a job of kind ${job.kind}, whose data cannot be read back`);
    if (job.data_removed_at !== null)
      throw notAgain(at, `was made by job ${job.id}, whose data were removed at ${job.data_removed_at}`);
    chain.unshift(job);
    at = (await startOf(client, model, job)) ?? at - 1;
  }
  return chain;
}

/** The version that a job started from; null where nothing was sent with it, which changes no weight. */
async function startOf(client: Hone, model: ModelObject, job: TrainingJob): Promise<number | null> {
  const query = { source: "jobs", job_id: job.id, limit: 1 } as const;
  for await (const row of client.trajectories.list(model.id, query)) return row.step;
  return null;
}

/** Everything that was sent with a job, but for the model and for the precision, which is each trainer's own. */
export async function bodyOf(
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
    groups.push({ group: withoutPlace(line, groupPlace), trajectories: [] });
  for await (const line of linesOf(client, model, { ...query, format: "jsonl" }))
    groups[line["group_index"] as number].trajectories.push(withoutPlace(line, rowPlace));
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

/** What lines say of where something lies, beside what was sent of it. */
const place = ["source", "source_id", "split", "step", "recorded_at", "group_index"];
const groupPlace: ReadonlySet<string> = new Set([...place, "trajectory_count", "extra"]);
const rowPlace: ReadonlySet<string> = new Set([...place, "id", "index", "group_metadata", "group_metrics"]);

/** With the fields of a client's own that a group's line has apart. */
function withoutPlace(line: Line, names: ReadonlySet<string>): Line {
  const own = names.has("extra") ? (line["extra"] as Line | undefined) : undefined;
  return { ...Object.fromEntries(Object.entries(line).filter(([name]) => !names.has(name))), ...own };
}

function notAgain(step: number, why: string): ServiceError {
  return new ServiceError({
    code: "conflict",
    message: `Version ${step} ${why}. Move the model with --merged <folder>, or move an earlier version.`,
  });
}
