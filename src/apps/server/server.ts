// The composition root: builds all parts in the order of their dependencies, starts them, and stops them in reverse
// order.
import { join } from "node:path";
import { systemClock } from "../../base/domain/clock.ts";
import { serviceOf, serviceOfParts, type Service } from "../../base/domain/lifecycle.ts";
import type { ServiceError } from "../../base/domain/service-error.ts";
import { logFormat, type LogStyle } from "../../base/telemetry/logger.ts";
import type { HttpDependencies } from "../../api/http/dependencies.ts";
import type { ListedBase } from "../../api/wire/models/served-model.ts";
import { readPrices } from "../../api/http/costs/settings.ts";
import { createHttpServer } from "../../api/http/server.ts";
import { failedBaseError, loadFaults } from "./bases/failed-bases.ts";
import { baseMemoryOf } from "./bases/base-memory.ts";
import { engineHealth, idleHealth, listedBases } from "./bases/listed-bases.ts";
import { createBaseCheck } from "./checks/base-check.ts";
import { createBucketCheck } from "./checks/bucket-check.ts";
import { checkDatabase } from "./checks/database-check.ts";
import { createDiskCheck } from "./checks/disk-check.ts";
import { createQueueCheck } from "./checks/queue-check.ts";
import type { HoneConfig } from "./config.ts";
import type { FirstKey } from "./first-key.ts";
import { exposeGauges } from "./gauges/gauges.ts";
import { exposeVllmGauges } from "./gauges/vllm-gauges.ts";
import { connectionsThatFit, openFilesMax } from "./open-files.ts";
import { packageFolder } from "./package.ts";
import { siteReader } from "./sites/site-files.ts";
import { buildAccess } from "./parts/access.ts";
import { buildContext, type Start } from "./parts/context.ts";
import { buildLearning } from "./parts/learning.ts";
import { buildReinforcement } from "./parts/reinforcement.ts";
import { buildModels } from "./parts/models.ts";
import { buildRecords } from "./parts/records.ts";
import { buildServing, loadBases } from "./parts/serving.ts";
import { buildTraining } from "./parts/training.ts";
import { type SettingsOverrides, type WholeSettings, wholeSettings } from "./settings.ts";

export interface Server extends Service {
  /** URL of the server; known once it has started. */
  readonly url: string;
  /** The first key; its secret is null before the server has started. */
  readonly firstKey: FirstKey;
  /** Served base models, default first; empty before the server has started. */
  readonly baseModels: readonly ListedBase[];
  /**
   * Resolves with the reason when the server must be stopped, because the database now requires a newer program. The
   * caller must report the reason; the server does not.
   */
  readonly outdated: Promise<ServiceError>;
  /** Format of the log, which depends on its audience. */
  readonly logFormat: LogStyle["format"];
}

/** Creates a server; does nothing until it is started. */
export function createServer(config: HoneConfig, overrides: SettingsOverrides = {}): Server {
  let facts: Pick<Server, "url" | "firstKey" | "baseModels"> = {
    url: "",
    firstKey: { secret: null, isNew: false, place: "" },
    baseModels: [],
  };
  let onOutdated: (reason: ServiceError) => void = () => undefined;
  const outdated = new Promise<ServiceError>((resolve) => (onOutdated = resolve));
  const life = serviceOfParts("server", async (start) => {
    facts = await composeServer(config, wholeSettings(config, overrides), { start, onOutdated });
  });
  return {
    ...life,
    get url() {
      return facts.url;
    },
    get firstKey() {
      return facts.firstKey;
    },
    get baseModels() {
      return facts.baseModels;
    },
    outdated,
    logFormat: logFormat(config.server.logFormat),
  };
}

/**
 * Builds every part, and starts each after its dependencies.
 *
 * @param onOutdated called at most once
 */
async function composeServer(
  config: HoneConfig,
  settings: WholeSettings,
  { start, onOutdated }: { readonly start: Start; readonly onOutdated: (reason: ServiceError) => void },
) {
  const context = await buildContext(config, settings, { start, onOutdated });
  const models = await buildModels(context, start);
  const training = await buildTraining(context, models, start);
  const access = await buildAccess(context, start);
  const serving = await buildServing(context, models, access, start);
  const { jobQueue } = training.http;
  const records = await buildRecords(context, access, models, training, start);
  const { listener, progress, database, isServing, artifactPlace } = context;
  const { clock, metrics, logger } = context.tools;
  const { bases, failed, baseNames, weightsOf, memory } = models;
  const { chat, embeddings } = serving;
  const { slotCountMax } = settings.engine;
  exposeGauges(metrics, { bases, memory, jobQueue });
  exposeVllmGauges(metrics, { bases, chat, slotCountMax, clock });
  const connections = connectionsThatFit(settings.http.connections, openFilesMax());
  if (connections < settings.http.connections)
    logger.info({ connections }, "the limit on open files allows fewer connections than are configured");
  const blobs = artifactPlace.kind === "folder" ? [artifactPlace.root] : [];
  const { models: versions, jobs, fineTuning, announcements, trajectories, completions } = database;
  const http: HttpDependencies = {
    ...context.tools,
    ...access.http,
    ...training.http,
    ...serving,
    ...records.http,
    versions,
    jobs,
    fineTuning,
    announcements,
    trajectories,
    completions,
    page: isServing ? siteReader(join(packageFolder(), "dist", "dashboard")) : async () => new Map(),
    guide: siteReader(join(packageFolder(), "dist", "guide")),
    engineHealth: () => (isServing ? engineHealth : idleHealth)(bases, failed, progress),
    databaseFault: () => database.fault(),
    databaseNote: context.databaseNote,
    checkDatabase: () => checkDatabase(database),
    checkJobs: createQueueCheck({ jobs, jobQueue, clock }),
    checks: {
      disk: createDiskCheck([settings.server.data, ...blobs, context.place.folder], clock),
      ...(artifactPlace.kind === "bucket" ? { blobs: createBucketCheck(artifactPlace.bucket, clock) } : {}),
      ...training.checks,
      models: async () => {
        const faults = loadFaults(isServing ? bases : [], failed);
        if (faults.length > 0) throw failedBaseError(faults.join(" "));
      },
      bases: createBaseCheck({ models: versions, bases: baseNames, weightsOf, clock }),
    },
    baseModels: () => listedBases(baseNames, { bases, failed, weightsOf }),
    baseMemory: baseMemoryOf({ bases, failed }),
    directory: models.directory,
    prices: readPrices(settings.costs, baseNames),
    isServing,
    isDraining: () => progress.isDraining,
    tracing: context.telemetry.tracing,
    recentLog: context.recentLog,
    audit: context.audit,
    settings: { ...settings.http, connections },
    version: context.version,
  };
  // From here on, clients can use all routes that need no model, and health shows which models are loading.
  await start(listener.handOverTo(await createHttpServer(http)));
  progress.address = { ...progress.address, port: Number(new URL(listener.url()).port || 80) };
  if (isServing) await loadBases(context, models, http, start);
  progress.isUp = true;
  // Called now because the engines have just computed the missing hashes of their weights, so they are read from the
  // cache.
  await models.records.completeBases();
  if (settings.server.roles.includes("train")) await start(jobQueue);
  if (isServing) for (const worker of records.workers) await start(worker);
  if (isServing) await start(buildReinforcement(context, http));
  if (isServing) await start(buildLearning(context, http, () => chat.runningCount));
  await start(records.http.retention.sweeper);
  const finishChats = async (): Promise<void> => {
    progress.isDraining = true;
    const isIdle = (): boolean => chat.runningCount + embeddings.runningCount === 0;
    await drain({ isIdle, seconds: settings.server.drainSeconds });
  };
  // Started last and therefore stopped first: the server accepts no new work and lets running chats finish.
  // Afterwards, running jobs are parked for the next start.
  await start(serviceOf("chats", { stop: finishChats }));
  return { url: listener.url(), firstKey: context.firstKey, baseModels: http.baseModels() };
}

/**
 * Waits until no request runs, or the time is up. Requests that still run are then aborted with an error that mentions
 * the shutdown.
 */
async function drain(options: { readonly isIdle: () => boolean; readonly seconds: number }): Promise<void> {
  const end = systemClock.monotonicMs() + options.seconds * 1000;
  while (!options.isIdle() && systemClock.monotonicMs() < end) await systemClock.sleep(20);
}
