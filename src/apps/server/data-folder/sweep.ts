// Removes the remains of dead processes before the server runs anything: working files, and artifacts that no live
// server is writing and no version or job needs. Adapters of models that the database does not know are kept and
// logged, because they may belong to another database.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import { namesIn } from "../../../store/artifacts/folder-names.ts";
import type { ServerFolder } from "../../../store/artifacts/server-folder.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { isTerminal, type JobRunner, type JobState, type JobStore } from "../../../base/domain/job.ts";
import { adapterFolderOf, adaptersOf, type ModelStore } from "../../../base/domain/model.ts";
import { allItems } from "../../../base/domain/page.ts";
import type { ServerStore } from "../../../base/domain/servers/server-store.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";
import { clearStaging } from "../backup/staging.ts";

export interface SweepDependencies {
  readonly artifacts: ArtifactStore;
  readonly folder: ServerFolder;
  /** Path of the data folder. */
  readonly root: string;
  /** True if other servers may be writing adapters to the same storage. */
  readonly hasOthers: boolean;
  readonly clock: Clock;
  readonly models: Pick<
    ModelStore,
    "find" | "findVersion" | "greatestStep" | "oldTrainerStates" | "dropTrainerStates"
  >;
  readonly jobs: Pick<JobStore, "find" | "list">;
  readonly servers: Pick<ServerStore, "has">;
  /** Deletes the work of ended jobs, and trainer states, some of which are outside the data folder. */
  readonly runner: Pick<JobRunner, "discardWork" | "discardState">;
  /** Number of newest versions of a model that keep their optimizer state. */
  readonly optimizerStatesKept: number;
  readonly logger: Logger;
}

/**
 * Maximum age in milliseconds of an adapter that has no version yet. It exceeds the time that any server takes between
 * writing an adapter and registering its version.
 */
const comingMs = 3_600_000;

/** Sweeps the data folder. Call it at the start, while this server runs no jobs. */
export async function sweepDataFolder(dependencies: SweepDependencies): Promise<void> {
  const { artifacts, folder, servers, root, logger } = dependencies;
  const isLive = (server: string): Promise<boolean> => servers.has(server);
  const isKnown = isKnownTo(dependencies);
  const removed = [
    ...(await removeDiskChecks(root)),
    ...(await artifacts.sweepAbandoned({ isLive, isKnown })),
    ...(await folder.sweep(isLive)),
    ...(await clearStaging(root)),
    ...(await sweepJobs(dependencies, [...(await folder.jobIds()), ...(await artifacts.names("jobs"))])),
  ];
  for (const modelId of await artifacts.names("adapters"))
    removed.push(...(await sweepModel(dependencies, modelId)));
  if (removed.length > 0) logger.warn({ removed }, "removed the remains of an earlier run");
}

/** Removes the test files of interrupted disk checks, and returns their names. */
async function removeDiskChecks(root: string): Promise<readonly string[]> {
  const left = (await namesIn(root)).filter((name) => name.startsWith(".disk-check-"));
  for (const name of left) await rm(join(root, name), { force: true });
  return left;
}

export interface DeadServerDependencies extends Pick<
  SweepDependencies,
  "artifacts" | "models" | "jobs" | "servers" | "runner" | "clock" | "logger"
> {
  /**
   * Time in milliseconds after which a missing server counts as dead. A server that has only lost its lease finishes
   * its work within that time.
   */
  readonly graceMs: number;
}

/** Returns a function that removes the artifacts of dead servers. Call it repeatedly while jobs run. */
export function createDeadServerSweep(dependencies: DeadServerDependencies): () => Promise<void> {
  const { artifacts, servers, clock, graceMs, logger } = dependencies;
  /** Monotonic time at which each server was first found missing. */
  const goneSince = new Map<string, number>();
  const isLive = async (server: string): Promise<boolean> => {
    if (await servers.has(server)) return true;
    const nowMs = clock.monotonicMs();
    const since = goneSince.get(server) ?? nowMs;
    const isWaitedFor = nowMs - since < graceMs;
    if (isWaitedFor) goneSince.set(server, since);
    else goneSince.delete(server);
    return isWaitedFor;
  };
  const isKnown = isKnownTo(dependencies);
  return async () => {
    const removed = [
      ...(await artifacts.sweepAbandoned({ isLive, isKnown })),
      ...(await sweepJobs(dependencies, await artifacts.names("jobs"))),
    ];
    if (removed.length > 0) logger.warn({ removed }, "removed the remains of a dead server");
  };
}

/** Returns a function that takes the key of an artifact, and returns true if the artifact's model exists. */
function isKnownTo({ models }: Pick<SweepDependencies, "models">): (key: string) => Promise<boolean> {
  return async (key) => (await models.find(modelOf(key))) !== null;
}

function modelOf(key: string): string {
  return key.split("/")[1] ?? "";
}

/** Removes the data of jobs that have ended or were deleted with their model: no later attempt needs it. */
async function sweepJobs(
  { jobs, runner }: Pick<SweepDependencies, "jobs" | "runner">,
  jobIds: readonly string[],
): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const jobId of new Set(jobIds)) {
    const job = await jobs.find(jobId);
    if (job !== null && !isTerminal(job.state)) continue;
    await runner.discardWork(jobId);
    removed.push(`jobs/${jobId}`);
  }
  return removed;
}

async function sweepModel(dependencies: SweepDependencies, modelId: string): Promise<readonly string[]> {
  const { artifacts, models, runner, optimizerStatesKept, hasOthers, clock, logger } = dependencies;
  const key = adaptersOf(modelId);
  if ((await models.find(modelId)) === null) {
    logger.warn({ key }, "the database does not know this model; its adapters are kept");
    return [];
  }
  const states = await models.oldTrainerStates(modelId, optimizerStatesKept);
  for (const state of states) await runner.discardState(state);
  await models.dropTrainerStates(modelId, states);
  return artifacts.sweep(key, {
    olderThan: hasOthers ? new Date(clock.now().getTime() - comingMs) : new Date(8.64e15),
    isKnown: async (child) => {
      const step = Number(child.slice(key.length + 1));
      if (adapterFolderOf(modelId, step) !== child) return true;
      // The jobs are read before the versions. A running job of another server may publish the version at any moment,
      // but an ended job never does.
      const jobs = await jobsOfStep(dependencies, modelId, step);
      if (!jobs.every(isTerminal) || (await models.findVersion(modelId, step)) !== null) return true;
      // If a step up to the model's greatest one has no version, its version was deleted.
      const isUsed = step <= (await models.greatestStep(modelId));
      return !isUsed && jobs.length === 0;
    },
  });
}

/** Returns the states of all jobs whose result is this step. */
async function jobsOfStep(
  { jobs }: SweepDependencies,
  modelId: string,
  step: number,
): Promise<readonly JobState[]> {
  const filter = { entity: null, modelId, kind: null, state: null };
  const states: JobState[] = [];
  for await (const { pins, state } of allItems((page) => jobs.list(filter, page)))
    if (pins?.resultStep === step) states.push(state);
  return states;
}
