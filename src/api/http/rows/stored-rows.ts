// Reads the stored trajectories of a model as rows. Logs or jobs are read one after the other, in the order in which
// they were stored.
import type { JobStore, TrainingJob } from "../../../base/domain/job.ts";
import type { TrainedModel } from "../../../base/domain/model.ts";
import { type PageRequest, allItems } from "../../../base/domain/page.ts";
import { ServiceError, invalid, notFound } from "../../../base/domain/service-error.ts";
import type { ListedOutline } from "../../../base/domain/summaries/trajectory-outline.ts";
import type { TrajectoryLog, TrajectoryStore } from "../../../base/domain/trajectory.ts";
import type { RowSelection } from "../../wire/trajectories/row-query.ts";
import { type RowBounds, noMembers } from "../../wire/trajectories/row-tasks.ts";
import { type RowPosition, type RowSource, groupLineStart, rowId } from "../../wire/trajectories/rows.ts";
import type { ReadShare } from "../memory-budget/read-budget.ts";
import type { RowReader } from "./row-reader.ts";
import { GroupPieces, type RowChunk, type StoredSource, sourceRows } from "./source-rows.ts";

export interface RowDependencies {
  readonly trajectories: TrajectoryStore;
  readonly jobs: Pick<JobStore, "find" | "list" | "trajectoryLines">;
  readonly reader: RowReader;
}

export interface RowRequest {
  readonly model: TrainedModel;
  readonly selection: RowSelection;
  /** Position of the last row read; null for the first page. */
  readonly after: RowPosition | null;
  /** Client whose turns the worker's tasks take (see `RowReader.run`). */
  readonly client: string;
  readonly bounds: RowBounds;
  /** Share of the read budget that the request holds. */
  readonly share: ReadShare;
}

/**
 * Yields all selected rows in chunks of about a megabyte.
 *
 * @throws ServiceError `invalid` at `after` for a position that the model does not have; `not_found` if a log or job is
 * deleted meanwhile
 */
export async function* storedRows(
  dependencies: RowDependencies,
  request: RowRequest,
): AsyncGenerator<RowChunk, void> {
  const { after } = request;
  if (after !== null) {
    const source = await sourceOf(dependencies, request, after.sourceId);
    if (source === null) throw unknownPlace();
    yield* rowsOf(dependencies, request, source, after);
  }
  if (after !== null && request.selection.sourceId !== null) return;
  for await (const source of sourcesAfter(dependencies, request))
    yield* rowsOf(dependencies, request, source, null);
}

/** A selection without any condition, which selects all rows. */
const everything: Omit<RowSelection, "source"> = {
  sourceId: null,
  split: null,
  step: null,
  recordedFrom: null,
  recordedBefore: null,
  filter: { rewardMin: null, rewardMax: null, metadata: [], words: [] },
};

/**
 * Returns one trajectory's row as JSON; null if its log or job no longer exists, or if the
 * trajectory does not match the filter.
 *
 * @throws ServiceError `not_found` if the log or job is deleted meanwhile
 */
export async function storedRow(
  dependencies: RowDependencies,
  {
    outline,
    filter: wanted = {},
    ...request
  }: Omit<RowRequest, "selection" | "after"> & {
    readonly filter?: Partial<RowSelection["filter"]>;
    readonly outline: Pick<ListedOutline, "source" | "sourceId" | "part" | "groupIndex" | "index">;
  },
): Promise<Uint8Array | null> {
  const { sourceId, part, groupIndex: group, index } = outline;
  const filter = { ...everything.filter, ...wanted };
  const selection = { ...everything, filter, source: outline.source === "log" ? "logs" : "jobs" } as const;
  const source = await sourceOf(dependencies, { ...request, selection }, sourceId);
  if (source === null) return null;
  // Reading begins after a position, so this is the position before the wanted row.
  const before = { sourceId, part, group, index: index - 1 };
  for await (const { bytes, ends, ids, last } of rowsOf(
    dependencies,
    { ...request, selection, after: before },
    source,
    before,
  )) {
    const isFound = ids[0] === rowId({ ...before, index });
    // The row without the line feed that ends it.
    if (ends.length > 0) return isFound ? bytes.subarray(0, ends[0] - 1) : null;
    if (last.group > group || last.index > index) return null;
  }
  return null;
}

/**
 * Refuses a selection of one job whose data has no trajectories.
 *
 * @throws ServiceError `invalid` if the job is not of reinforcement learning
 */
export async function requireTrajectories(
  jobs: Pick<JobStore, "find">,
  model: Pick<TrainedModel, "id">,
  { source, sourceId }: Pick<RowSelection, "source" | "sourceId">,
): Promise<void> {
  const job = source === "jobs" && sourceId !== null ? await jobs.find(sourceId) : null;
  if (job === null || job.modelId !== model.id || job.task.kind === "rl") return;
  const kind = job.task.kind === "sft" ? "supervised" : "preference";
  throw invalid(
    `Job ${job.id} is a ${kind} training job, so its data has no trajectories. Name a job of reinforcement learning.`,
  );
}

/**
 * Yields all selected groups as JSON lines, in pieces (see `sourceGroups`).
 *
 * @throws ServiceError `not_found` if a log or job is deleted meanwhile
 */
export async function* storedGroups(
  dependencies: RowDependencies,
  request: Pick<RowRequest, "model" | "selection" | "client">,
): AsyncGenerator<Uint8Array | string, void> {
  const { reader } = dependencies;
  const { client } = request;
  for await (const source of sourcesAfter(dependencies, { ...request, after: null }))
    yield* sourceGroups({ linesFrom: linesOf(dependencies, source), reader, client }, source);
}

function rowsOf(
  dependencies: RowDependencies,
  { selection: { filter }, client, bounds, share }: RowRequest,
  source: RowSource,
  after: RowPosition | null,
): AsyncGenerator<RowChunk, void> {
  const linesFrom = linesOf(dependencies, source);
  const { reader } = dependencies;
  return sourceRows({ linesFrom, reader, share, client }, { source, filter, bounds }, after);
}

/** Returns a function that reads the folded lines of a log or job, beginning with a given part. */
function linesOf(
  { trajectories, jobs }: RowDependencies,
  source: RowSource,
): (part: number) => Promise<AsyncIterable<string>> {
  return async (part) => {
    const isLog = source.kind === "log";
    const lines = isLog
      ? await trajectories.lines(source.id, part)
      : await jobs.trajectoryLines(source.id, part);
    if (lines === null) throw notFound(isLog ? "log of trajectories" : "training job", source.id);
    return lines;
  };
}

/** Yields the selected logs or jobs that come after the log or job with the position `after`. */
async function* sourcesAfter(
  dependencies: RowDependencies,
  request: Pick<RowRequest, "model" | "selection" | "after">,
): AsyncGenerator<RowSource, void> {
  const { trajectories, jobs } = dependencies;
  const { model, selection, after } = request;
  if (selection.sourceId !== null) {
    const source = await sourceOf(dependencies, request, selection.sourceId);
    if (source !== null) yield source;
    return;
  }
  // The log or job that contains the position is read separately, so this list begins with the one after it.
  const behind = (page: PageRequest): PageRequest => ({
    ...page,
    after: page.after ?? after?.sourceId ?? null,
  });
  if (selection.source === "logs") {
    for await (const log of allItems((page) => trajectories.list(model.id, selection, behind(page))))
      yield ofLog(log);
    return;
  }
  const filter = { entity: null, modelId: model.id, kind: "rl", state: null } as const;
  for await (const job of allItems((page) => jobs.list(filter, behind(page)))) {
    const source = ofJob(job);
    if (isWanted(source, selection) && (await hasData(jobs, job))) yield source;
  }
}

/** Returns the log or job with this id if it belongs to the model and the selection includes it; otherwise null. */
async function sourceOf(
  { trajectories, jobs }: RowDependencies,
  { model, selection }: Pick<RowRequest, "model" | "selection">,
  id: string,
): Promise<RowSource | null> {
  if (selection.sourceId !== null && selection.sourceId !== id) return null;
  const found = selection.source === "logs" ? await trajectories.find(id) : await jobs.find(id);
  if (found === null || found.modelId !== model.id) return null;
  const source = "split" in found ? ofLog(found) : ofJob(found);
  return isWanted(source, selection) ? source : null;
}

/** True if the job's training data is still stored. A retry uses the data of the job that it retries. */
async function hasData(jobs: RowDependencies["jobs"], job: TrainingJob): Promise<boolean> {
  const source = job.retryOf === null ? job : await jobs.find(job.retryOf);
  return source?.dataRemovedAt === null;
}

function ofLog({ id, split, step, recordedAt }: TrajectoryLog): RowSource {
  return { kind: "log", id, split, step, recordedAt: recordedAt.toISOString() };
}

function ofJob({ id, pins, createdAt }: TrainingJob): RowSource {
  return {
    kind: "job",
    id,
    split: "train",
    step: pins?.startStep ?? null,
    recordedAt: createdAt.toISOString(),
  };
}

function isWanted(source: RowSource, { split, step, recordedFrom, recordedBefore }: RowSelection): boolean {
  if (source.split !== (split ?? source.split) || source.step !== (step ?? source.step)) return false;
  const at = new Date(source.recordedAt);
  return at >= (recordedFrom ?? at) && (recordedBefore === null || at < recordedBefore);
}

function unknownPlace(): ServiceError {
  const message =
    "after is not a cursor of these trajectories. Use last_id of the previous page, with the same filters";
  return new ServiceError({
    code: "invalid",
    message: `${message}.`,
    faults: [{ location: ["after"], message, type: "value_error" }],
  });
}

/**
 * Yields the groups of one log or job as JSON lines. Each line has the group's position and all its members except the
 * trajectories. A group is read once, piece by piece, and its members are copied as stored, at any length.
 *
 * @throws ServiceError `not_found` if the log or job is deleted meanwhile
 */
async function* sourceGroups(
  { linesFrom, reader, client }: Omit<StoredSource, "share">,
  source: RowSource,
): AsyncGenerator<Uint8Array | string, void> {
  const pieces = new GroupPieces(await linesFrom(0));
  let [groupIndex, progress, isInMembers] = [0, noMembers, false];
  for (let next = await pieces.takePiece(); next !== null; next = await pieces.takePiece()) {
    if (isInMembers) yield next.piece;
    else {
      const found = await reader.run("members", { progress, piece: next.piece }, client);
      ({ progress } = found);
      if (found.text !== null) {
        isInMembers = true;
        yield groupLineStart(source, groupIndex, progress.trajectoryCount);
        yield found.text;
      }
    }
    if (next.isLast) [groupIndex, progress, isInMembers] = [groupIndex + 1, noMembers, false];
  }
}
