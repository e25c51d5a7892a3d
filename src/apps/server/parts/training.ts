// Builds training: the job runner, the queue, imports and exports. Removes the remains of an earlier run first, then
// starts everything except the queue, which waits for the engines.
import { serviceOf } from "../../../base/domain/lifecycle.ts";
import type { BaseModel } from "../../../base/domain/model.ts";
import { CheckpointFiles } from "../../../inference/models/checkpoints/checkpoint-files.ts";
import { createModelService, createOlderVersions } from "../../../inference/models/registry/model-service.ts";
import { hasWeights } from "../../../lib/model-files/weight-files.ts";
import { createAttemptMetrics } from "../../../train/jobs/attempt-report.ts";
import { JobQueue } from "../../../train/jobs/job-queue.ts";
import { goneMs } from "../../../train/jobs/settings.ts";
import { trainingKindOf } from "../../../train/jobs/new-job.ts";
import { requireLive, startProcess } from "../../../train/sessions/process/start-process.ts";
import { TrainingSessions } from "../../../train/sessions/training-sessions.ts";
import { createChildJobRunner } from "../../../train/trainer/child-runner.ts";
import { createAdapterCheck } from "../checks/adapter-check.ts";
import { compareAdapters, comparisonFault } from "../data-folder/compare-adapters.ts";
import { sweepDataFolder, createDeadServerSweep } from "../data-folder/sweep.ts";
import { remoteTrainer } from "../remote-trainer.ts";
import type { ServerContext, Start } from "./context.ts";
import type { Models } from "./models.ts";

export type Training = Awaited<ReturnType<typeof buildTraining>>;

export async function buildTraining(context: ServerContext, models: Models, start: Start) {
  const { settings, place, artifacts, folder, identity, server, version, tools } = context;
  const { models: store, jobs, servers, completions, sources, announcements } = context.database;
  const { clock, logger } = tools;
  const { bases, uses, adapters, baseNames, directory, weightsOf, prepareVersion } = models;
  const { data: root, roles } = settings.server;
  const toolsAsText = bases.filter(({ replies }) => replies.callFormat?.isTaught === true);
  const baseFolders = new Map(bases.map(({ model }) => [model.name, model.folder]));
  const runner = createChildJobRunner({
    ...tools,
    artifacts,
    folder,
    baseFolders,
    weightless: roles.includes("train") ? weightless(bases.map(({ model }) => model)) : new Set(),
    toolsAsText: new Set(toolsAsText.map(({ model }) => model.name)),
    precisions: new Map(
      bases.flatMap(({ model, precision }) => (precision ? [[model.name, precision]] : [])),
    ),
    trajectoryLines: (jobId) => jobs.trajectoryLines(jobId),
    settings: settings.training,
    elsewhere: remoteTrainer(settings.server),
    version,
  });
  const dropAdapter = (id: string): void => bases.forEach(({ engine }) => engine.dropAdapter(id));
  const olderVersions = createOlderVersions({
    store,
    dropAdapter,
    adaptersInUse: () => adapters.ids(),
    artifacts,
    clock,
    server,
    settings: settings.models,
  });
  await olderVersions.deleteAll();
  const { optimizerStatesKept } = settings.jobs;
  const compare = { artifacts, models: store, jobs };
  const swept = { ...tools, ...compare, servers, runner };
  await sweepDataFolder({ ...swept, folder, root, hasOthers: place.isForMany, optimizerStatesKept });
  const compared = await compareAdapters(compare);
  const fault = await comparisonFault(compared, compare);
  if (fault !== null) logger.error(compared, fault.message);
  await start(runner);
  const checkpointFiles = new CheckpointFiles({
    store,
    baseFolders,
    artifacts,
    useVersion: (version) => uses.use(version),
    adapters,
    folder,
    clock,
    settings: settings.models,
    // An error is only logged, because the import is already stored. If the engine is not running or refuses the
    // version, requests to the version report that.
    prepareVersion: (version, baseModel, by) =>
      prepareVersion(version, baseModel).catch((error: unknown) => {
        const fields = { ...by, err: error, modelId: version.modelId };
        logger.warn(fields, "an imported version could not be loaded yet");
      }),
    // An error is only logged, because the deletion is repeated at the next version or the next start.
    onNewVersion: (modelId, by) =>
      olderVersions.deleteOf(modelId).catch((error: unknown) => {
        logger.warn({ ...by, err: error, modelId }, "older versions could not be deleted");
      }),
  });
  await start(serviceOf("checkpoint files", { stop: () => checkpointFiles.close() }));
  const jobQueue = new JobQueue(
    {
      ...tools,
      jobs,
      models: store,
      runner,
      sources,
      prepareVersion,
      onNewVersion: (modelId) => olderVersions.deleteOf(modelId),
      metrics: createAttemptMetrics(tools.metrics),
      tracing: context.telemetry.tracing,
      lease: identity,
      announcements,
    },
    settings.jobs,
  );
  const modelService = createModelService({
    store,
    bases: baseNames,
    clock,
    directory,
    copyAdapter: (source, modelId) => checkpointFiles.copy(source, modelId),
    trainingKindOf: (version) => trainingKindOf({ jobs }, version),
    deleteRecordings: (modelId) => completions.deleteOfModel(modelId),
    cancelJobs: (modelId) => jobQueue.cancelAll(modelId),
    weightsOf,
    dropAdapter,
    discardState: (state) => runner.discardState(state),
    artifacts,
  });
  const processes = {
    artifacts,
    folder,
    baseFolders,
    settings: settings.training,
    // The memory for training is divided into equal shares: one for each live model, and one for all jobs together.
    shareCount: settings.sessions.modelsMax + 1,
    trainsElsewhere: remoteTrainer(settings.server) !== null,
    clock,
  };
  const sessions = new TrainingSessions({
    ...tools,
    store,
    models: modelService,
    artifacts,
    folder,
    bases: baseNames,
    requireLive: (baseModel) => requireLive(processes, baseModel),
    trainer: runner.trainer,
    startProcess: (model, signal) => startProcess(processes, model, signal),
    prepareVersion,
    onNewVersion: (modelId) => olderVersions.deleteOf(modelId),
    settings: settings.sessions,
  });
  await start(sessions);
  const graceMs = goneMs(settings.jobs);
  return {
    /** Removes artifacts of dead servers; does nothing if no other server can use the database. */
    clearDead: place.isForMany ? createDeadServerSweep({ ...swept, graceMs }) : async () => undefined,
    checks: {
      adapters: createAdapterCheck({ ...tools, models: store, artifacts }),
      data_folder: async () => {
        const now = await comparisonFault(compared, compare);
        if (now !== null) throw now;
      },
    },
    http: { models: modelService, checkpointFiles, jobQueue, sessions },
  };
}

/** Returns the names of the bases without weight files on this machine, which vLLM servers compute. */
function weightless(models: readonly BaseModel[]): ReadonlySet<string> {
  const without = models.filter(({ engine, folder }) => engine.kind !== "embedded" && !hasWeights(folder));
  return new Set(without.map(({ name }) => name));
}
