// Removes, before anything runs, what a process that died left in the data folder. What jobs worked with goes with them: it
// is of no use without. Of versions only what is known to be nobody's goes: a folder that the database does not know may be
// of another database, so it stays, and the log names it.
import { readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { importsFolder } from "../../checkpoints/import-adapter.ts";
import { isTerminal, type JobRunner, type JobState, type JobStore } from "../../domain/job.ts";
import type { ModelStore } from "../../domain/model.ts";
import { allItems } from "../../domain/page.ts";
import { deletionMark } from "../../registry/model-service.ts";
import type { Logger } from "../../telemetry/logger.ts";
import { stateFileName } from "../../training/embedded/profile.ts";
import { isUnfinished } from "../../training/folders/publish.ts";
import { isKeptForAttempts } from "../../training/steps/job-snapshots.ts";

export interface SweepDependencies {
  readonly dataFolder: string;
  readonly models: Pick<ModelStore, "find" | "findVersion" | "greatestStep" | "dropTrainerStates">;
  readonly jobs: Pick<JobStore, "find" | "list">;
  /** Its trainer may keep states elsewhere. */
  readonly runner: Pick<JobRunner, "discardWork" | "discardState">;
  /** Of how many of a model's newest versions the optimizer's state stays. */
  readonly optimizerStatesKept: number;
  readonly logger: Logger;
}

/** To be called while the data folder is locked and no job runs. */
export async function sweepDataFolder(dependencies: SweepDependencies): Promise<void> {
  const { dataFolder } = dependencies;
  const removed: string[] = [];
  const remove = async (...parts: readonly string[]): Promise<void> => {
    removed.push(join(...parts));
    await rm(join(dataFolder, ...parts), { recursive: true, force: true });
  };
  for (const jobId of await namesIn(join(dataFolder, "jobs"))) await sweepJob(dependencies, jobId, remove);
  for (const name of await namesIn(dataFolder)) if (name.startsWith(".disk-check-")) await remove(name);
  for (const name of await namesIn(join(dataFolder, importsFolder))) await remove(importsFolder, name);
  for (const name of await namesIn(join(dataFolder, "cache")))
    if (name.endsWith(".partial")) await remove("cache", name);
  for (const modelId of await namesIn(join(dataFolder, "adapters")))
    await sweepModel(dependencies, modelId, remove);
  if (removed.length > 0) dependencies.logger.warn({ removed }, "removed what an earlier run left behind");
}

type Remove = (...parts: readonly string[]) => Promise<void>;

/** What attempts work with goes, since none runs; what the next one goes on from stays where there is to be one. */
async function sweepJob(
  { dataFolder, jobs, runner }: SweepDependencies,
  jobId: string,
  remove: Remove,
): Promise<void> {
  const job = await jobs.find(jobId);
  // One that went with its model, while a server died or a training process that had lost its server still wrote.
  if (job === null || isTerminal(job.state)) {
    await runner.discardWork(jobId);
    return remove("jobs", jobId);
  }
  for (const name of await namesIn(join(dataFolder, "jobs", jobId)))
    if (!isKeptForAttempts(name)) await remove("jobs", jobId, name);
}

async function sweepModel(dependencies: SweepDependencies, modelId: string, remove: Remove): Promise<void> {
  const { dataFolder, models, runner, optimizerStatesKept, logger } = dependencies;
  const folder = join(dataFolder, "adapters", modelId);
  const names = await namesIn(folder);
  if ((await models.find(modelId)) === null) {
    if (names.includes(deletionMark)) return remove("adapters", modelId);
    for (const name of names.filter(isUnfinished)) await remove("adapters", modelId, name);
    // Fails where anything is left.
    const isGone = await rmdir(folder).then(
      () => true,
      () => false,
    );
    if (!isGone) logger.warn({ folder }, "the database does not know this model; its folder is left alone");
    return;
  }
  for (const state of await models.dropTrainerStates(modelId, optimizerStatesKept))
    await runner.discardState(state);
  const greatestStep = await models.greatestStep(modelId);
  for (const name of names) {
    const step = Number(name);
    if (isUnfinished(name) || name === deletionMark) await remove("adapters", modelId, name);
    if (!Number.isSafeInteger(step)) continue;
    const version = await models.findVersion(modelId, step);
    // A step that was used and is no version any more was deleted.
    const isNobodys =
      version === null && (step <= greatestStep || (await isOfEndedJob(dependencies, modelId, step)));
    if (isNobodys) await remove("adapters", modelId, name);
    const isStateDropped = version !== null && version.trainerState === null;
    if (isStateDropped && (await namesIn(join(folder, name))).includes(stateFileName))
      await remove("adapters", modelId, name, stateFileName);
  }
}

/** Whether a job would have published this step, and ended without. One that still waits replaces what lies there. */
async function isOfEndedJob({ jobs }: SweepDependencies, modelId: string, step: number): Promise<boolean> {
  const filter = { entity: null, modelId, kind: null, state: null };
  const states: JobState[] = [];
  for await (const { pins, state } of allItems((page) => jobs.list(filter, page)))
    if (pins?.resultStep === step) states.push(state);
  return states.length > 0 && states.every(isTerminal);
}

/** Empty when there is no such folder. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch {
    return [];
  }
}
