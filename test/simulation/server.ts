// A server of the simulated world: the durable parts of `apps/server/server`, created and started in the same order, on
// a simulated disk, database and clock. Only the training processes are replaced, and there is no HTTP.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FolderArtifacts } from "../../src/store/artifacts/folder-artifacts.ts";
import { ServerFolder } from "../../src/store/artifacts/server-folder.ts";
import { copyAdapter } from "../../src/inference/models/checkpoints/copy-adapter.ts";
import { importAdapter } from "../../src/inference/models/checkpoints/import-adapter.ts";
import { assert } from "../../src/base/domain/assert.ts";
import { newUuid } from "../../src/base/domain/random.ts";
import type { TrainedModel } from "../../src/base/domain/model.ts";
import { serviceOfParts, serviceOf } from "../../src/base/domain/lifecycle.ts";
import type { FeedbackService } from "../../src/judge/feedback/feedback-service.ts";
import { createFeedbackService } from "../../src/judge/feedback/feedback-service.ts";
import { createFileService, type FileService } from "../../src/train/uploads/file-service.ts";
import { fileSettings } from "../../src/train/uploads/settings.ts";
import { JobQueue } from "../../src/train/jobs/job-queue.ts";
import { ServerLease } from "../../src/train/jobs/server-lease.ts";
import { goneMs, jobSettings } from "../../src/train/jobs/settings.ts";
import { trainingKindOf } from "../../src/train/jobs/new-job.ts";
import { createRecorder, type Recorder } from "../../src/inference/chat/recordings/recorder.ts";
import { recordingSettings } from "../../src/inference/chat/recordings/settings.ts";
import { adapterHash } from "../../src/inference/architectures/hashes/adapter-hash.ts";
import { createModelDirectory } from "../../src/inference/models/registry/model-directory.ts";
import {
  createModelService,
  type ModelService,
  createOlderVersions,
} from "../../src/inference/models/registry/model-service.ts";
import { VersionUses } from "../../src/inference/models/registry/version-uses.ts";
import { keepPolicies, retentionSettings } from "../../src/store/retention/settings.ts";
import { createSweeper } from "../../src/store/retention/sweeper.ts";
import { sweepDataFolder, createDeadServerSweep } from "../../src/apps/server/data-folder/sweep.ts";
import { openStores, type Stores } from "../../src/store/database/stores.ts";
import type { Logger } from "../../src/base/telemetry/logger.ts";
import { createMetrics } from "../../src/base/telemetry/metrics.ts";
import { baseWeights, createSimulatedRunner, type TrainerPlace } from "./trainer.ts";
import type { SimulatedDatabase } from "./world/database.ts";
import { rootOf } from "./world/node-world.ts";
import type { SimulatedProcess } from "./world/process.ts";
import type { Scheduler } from "./world/scheduler.ts";

/** The parts of a world that its servers share. */
export interface ServerPlace extends Pick<TrainerPlace, "failure"> {
  readonly scheduler: Scheduler;
  readonly database: SimulatedDatabase;
  readonly logger: Logger;
  /** Number of newest versions kept per model; 0 keeps all. */
  readonly checkpointsKept: number;
}

/** Operations that clients can request from a server. */
export interface SimulatedServer {
  readonly process: SimulatedProcess;
  readonly stores: Stores;
  readonly artifacts: FolderArtifacts;
  readonly jobQueue: JobQueue;
  readonly models: ModelService;
  readonly uses: VersionUses;
  readonly files: FileService;
  readonly recorder: Recorder;
  readonly feedback: FeedbackService;
  /** Imports an adapter with these files (contents by name) as the model's next version; returns its step. */
  importVersion(model: TrainedModel, files: Readonly<Record<string, string>>): Promise<number>;
  /** Resolves when the server has stopped cleanly. */
  stop(): Promise<void>;
}

export const baseModel = "tiny";

/**
 * The settings of `train/jobs/settings` with shorter times: seconds instead of minutes, so that a run covers many of
 * these periods.
 */
const settings = jobSettings.with({
  concurrency: 2,
  leaseMs: 12_000,
  pollMs: 5000,
  eventPollMs: 4000,
  startsMax: 1000,
});

/** Folder on the disk that all servers share. Each server also has its own folder next to it. */
export const sharedFolder = "blobs";

/** Starts a server in a place. Rejects where the real program would exit with an error. */
export async function startServer(
  place: ServerPlace & { readonly number: number },
  process: SimulatedProcess,
): Promise<SimulatedServer> {
  let started: SimulatedServer | null = null;
  const life = serviceOfParts("server", async (start) => {
    const { logger } = place;
    const stores = await openStores(place.database.connect(process), process.clock);
    const { clock } = stores;
    await start(serviceOf("database", { stop: () => stores.close() }));
    const root = rootOf(process.number);
    const identity = { id: newUuid() };
    const server = (): string => identity.id;
    const shared = { root: `${root}/${sharedFolder}`, server };
    const artifacts = new FolderArtifacts(shared);
    const dataFolder = `${root}/data-${place.number}`;
    const folder = new ServerFolder({ root: dataFolder, server });
    const lease = new ServerLease(
      {
        identity,
        servers: stores.servers,
        baseModels: [baseModel],
        artifacts: await artifacts.placeId(),
        clock,
        logger,
      },
      settings,
    );
    const uses = new VersionUses({
      store: stores.models,
      server,
      adaptersInUse: () => [],
      clock,
      onFault: (error) => logger.warn({ err: error }, "uses"),
    });
    const runner = createSimulatedRunner({
      ...place,
      artifacts,
      openArtifacts: (mayPut) => new FolderArtifacts({ ...shared, mayPut }),
      folder,
      process,
    });
    const olderVersions = createOlderVersions({
      store: stores.models,
      dropAdapter: () => undefined,
      adaptersInUse: () => [],
      artifacts,
      server,
      clock,
      settings: { checkpointsKept: place.checkpointsKept },
    });
    const jobQueue = new JobQueue(
      {
        jobs: stores.jobs,
        models: stores.models,
        runner,
        onNewVersion: (modelId) => olderVersions.deleteOf(modelId),
        clock,
        logger,
        lease,
        announcements: stores.announcements,
      },
      settings,
    );
    const hashOf = async (adapter: string): Promise<string> => adapterHash(adapter);
    const directory = createModelDirectory({
      store: stores.models,
      bases: [baseModel],
      defaultBase: baseModel,
      weightsOf: () => baseWeights,
      artifacts,
      useVersion: (version) => uses.use(version),
      build: "simulated",
    });
    const models = createModelService({
      store: stores.models,
      bases: [baseModel],
      clock,
      directory,
      copyAdapter: async (source, modelId) => {
        const { adapterFolder } = source;
        assert(adapterFolder !== null, "what is copied has an adapter");
        return copyAdapter({ artifacts, hashOf }, { ...source, adapterFolder }, modelId);
      },
      trainingKindOf: (version) => trainingKindOf({ jobs: stores.jobs }, version),
      deleteRecordings: (modelId) => stores.completions.deleteOfModel(modelId),
      cancelJobs: (modelId) => jobQueue.cancelAll(modelId),
      weightsOf: () => baseWeights,
      dropAdapter: () => undefined,
      discardState: (state) => runner.discardState(state),
      artifacts,
    });
    const files = createFileService({
      store: stores.files,
      uploads: stores.uploads,
      clock,
      artifacts,
      settings: fileSettings.with({ sweepSeconds: 10 }),
      onFault: (error) => logger.warn({ err: error }, "files"),
    });
    const metrics = createMetrics({ processMetrics: false });
    const recordings = recordingSettings.with();
    const recorder = createRecorder({
      store: stores.completions,
      settings: recordings,
      clock,
      metrics,
      logger,
    });
    const retention = retentionSettings.with({ recordings: [], sweepSeconds: 10, leaseSeconds: 20 });
    const sweeper = createSweeper({
      store: stores.retention,
      policies: keepPolicies(retention),
      settings: retention,
      owner: server,
      clearDead: createDeadServerSweep({
        artifacts,
        models: stores.models,
        jobs: stores.jobs,
        servers: stores.servers,
        runner,
        clock,
        graceMs: goneMs(settings),
        logger,
      }),
      trimAudit: async () => undefined,
      clock,
      audit: { record: () => undefined },
      metrics,
      logger,
    });
    const feedback = createFeedbackService({
      store: stores.feedback,
      queues: stores.annotation,
      specs: stores.objects,
      clock,
    });
    await start(lease);
    await start(uses);
    await olderVersions.deleteAll();
    await sweepDataFolder({
      artifacts,
      folder,
      root: dataFolder,
      hasOthers: true,
      clock,
      models: stores.models,
      jobs: stores.jobs,
      servers: stores.servers,
      runner,
      optimizerStatesKept: settings.optimizerStatesKept,
      logger,
    });
    await start(files);
    await start(recorder);
    await start(jobQueue);
    await start(sweeper);
    started = {
      process,
      stores,
      artifacts,
      jobQueue,
      models,
      uses,
      files,
      recorder,
      feedback,
      importVersion: async (model, files) => {
        const dependencies = {
          store: stores.models,
          artifacts,
          folder,
          // Writes the files instead of unpacking an archive, because the workers that unpack archives are not
          // simulated.
          unpack: async ({ folder: target }: { readonly folder: string }) => {
            for (const [name, text] of Object.entries(files)) await writeFile(join(target, name), text);
            return { taken: Object.keys(files), left: [] };
          },
          check: async (target: string) => ({ hash: adapterHash(target) }),
          base: baseWeights,
          bytesMax: 1 << 20,
        };
        const archive = piecesOf(JSON.stringify(files));
        const imported = await importAdapter(dependencies, model, { archive, createdAt: clock.now() });
        await olderVersions.deleteOf(model.id);
        return imported.version.step;
      },
      stop: () => life.stop(),
    };
  });
  try {
    await life.start();
  } catch (error) {
    await life.stop().catch(() => undefined);
    throw error;
  }
  // Safe cast: the start has resolved.
  return started as unknown as SimulatedServer;
}

/** Yields a text in pieces, as if received over a network. */
export async function* piecesOf(text: string): AsyncGenerator<Uint8Array, void> {
  const bytes = new TextEncoder().encode(text);
  yield bytes.subarray(0, 5);
  yield bytes.subarray(5);
}
