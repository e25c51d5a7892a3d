// The composition root: everything is built here, in reading order, and started and stopped here.
import type { ArtifactPlace } from "../../store/artifacts/artifact-place.ts";
import { storeEnvironment } from "../../store/artifacts/s3/bucket-client.ts";
import { openArtifacts } from "../../store/artifacts/open-artifacts.ts";
import { ServerFolder } from "../../store/artifacts/server-folder.ts";
import type { KeyStore } from "../../base/domain/access.ts";
import type { BaseModel, ModelVersion } from "../../base/domain/model.ts";
import { isLoopback } from "../../base/domain/loopback.ts";
import { systemClock } from "../../base/domain/clock.ts";
import { freshSeed, seededRandom } from "../../base/domain/random.ts";
import type { Engine } from "../../base/domain/generation.ts";
import type { ServiceError } from "../../base/domain/service-error.ts";
import { serviceOf, serviceOfParts, type Service } from "../../base/domain/lifecycle.ts";
import { createAuditLog, trimAudit, type AuditLog } from "../../base/telemetry/audit-log.ts";
import { createLogger, logFormat, type Logger, type LogStyle } from "../../base/telemetry/logger.ts";
import { createMetrics, type Metrics } from "../../base/telemetry/metrics.ts";
import { startOpenTelemetry } from "../../base/telemetry/open-telemetry/open-telemetry.ts";
import { RecentLog } from "../../base/telemetry/recent-log.ts";
import { standardStream } from "../../base/telemetry/standard-streams.ts";
import type { Telemetry } from "../../base/telemetry/tracing.ts";
import type { Stores } from "../../store/storage/stores.ts";
import { hasWeights } from "../../lib/model-files/weight-files.ts";
import { ensureGgufFolder } from "../../lib/model-files/gguf/gguf-model.ts";
import { listBaseModels } from "../../inference/models/registry/base-models.ts";
import { adapterOf, createModelDirectory } from "../../inference/models/registry/model-directory.ts";
import { PublishedVersions } from "../../inference/models/registry/published-versions.ts";
import { VersionUses } from "../../inference/models/registry/version-uses.ts";
import { createModelService } from "../../inference/models/registry/model-service.ts";
import { createRecorder, type Recorder } from "../../inference/chat/recordings/recorder.ts";
import { createStorageQuotas } from "../../store/retention/quotas.ts";
import { keepPolicies } from "../../store/retention/settings.ts";
import { createSweeper, type Sweeper } from "../../store/retention/sweeper.ts";
import { CheckpointFiles } from "../../inference/models/checkpoints/checkpoint-files.ts";
import { createChatService, type ChatService } from "../../inference/chat/complete-chat.ts";
import { WaitingPlaces } from "../../inference/chat/waiting-places.ts";
import {
  createEmbeddingService,
  type EmbeddingService,
} from "../../inference/chat/embeddings/embedding-service.ts";
import { createTokenizationService } from "../../inference/chat/tokenization.ts";
import {
  createConstraintChecker,
  type ConstraintChecker,
} from "../../inference/engine/constraint-check/constraint-checker.ts";
import { endEnginesAhead } from "../../inference/engine/embedded-engine.ts";
import { createAnnotationService } from "../../judge/annotation/annotation-service.ts";
import { createObjectService } from "../../judge/traces/object-service.ts";
import { createProjectTraces, type ProjectTraces } from "../../judge/traces/project-traces.ts";
import { createFeedbackService } from "../../judge/feedback/feedback-service.ts";
import { findSpecText } from "../../judge/feedback/specs/annotation-specs.ts";
import { createFileService, type FileService } from "../../train/files/file-service.ts";
import type { HttpDependencies, ListedBase } from "../../api/http/dependencies.ts";
import { createHttpServer } from "../../api/http/server.ts";
import { createAttemptMetrics } from "../../train/jobs/attempt-metrics.ts";
import { JobQueue } from "../../train/jobs/job-queue.ts";
import { goneMs } from "../../train/jobs/settings.ts";
import { ServerLease } from "../../train/jobs/server-lease.ts";
import { trainingKindOf } from "../../train/jobs/version-kind.ts";
import { createKeyService } from "../../access/keys/key-service.ts";
import { createKeyUse, type KeyUse } from "../../access/keys/key-use.ts";
import { createEntityLimits } from "../../access/keys/limits/entity-limits.ts";
import { createRateLimiter, type RateLimiter } from "../../access/keys/limits/rate-limiter.ts";
import { entityLimitsOf } from "../../access/keys/settings.ts";
import { createUsageMeter, type UsageMeter } from "../../access/keys/usage-meter.ts";
import { createChildJobRunner, type ChildJobRunner } from "../../train/training/child-runner.ts";
import { RewardService } from "../../train/rewards/reward-service.ts";
import { StandingRules } from "../../train/rewards/standing/standing-rules.ts";
import { pageReader } from "./page/page-files.ts";
import { createPromptExchange } from "../../inference/transfer/prompt-exchange.ts";
import type { Address } from "../../inference/transfer/peers.ts";
import { readFilter } from "../../api/wire/rewards/feedback-filter.ts";
import { readAllowedPlaces } from "../../api/webhooks/allowed-places.ts";
import { Deliverer } from "../../api/webhooks/deliverer.ts";
import { createWebhookService } from "../../api/webhooks/webhook-service.ts";
import { type SettingsOverrides, type WholeSettings, wholeSettings } from "./settings.ts";
import { createSignedInUsers } from "../../access/users/signed-in-users.ts";
import { artifactPlaceOf } from "./artifact-place.ts";
import { addToChildEnvironment, type HoneConfig } from "./config.ts";
import { createAdapterCheck } from "./checks/adapter-check.ts";
import { createBaseCheck } from "./checks/base-check.ts";
import { createBucketCheck } from "./checks/bucket-check.ts";
import { checkDatabase } from "./checks/database-check.ts";
import { createDiskCheck } from "./checks/disk-check.ts";
import { settleChildEnvironment } from "./bases/engines-ahead.ts";
import { exposeGauges } from "./gauges/gauges.ts";
import { exposeVllmGauges } from "./gauges/vllm-gauges.ts";
import { memoryObserver } from "./bases/memory-observer.ts";
import { auditedKeys, auditedLimits, auditFile } from "./audit-keys.ts";
import { ensureFirstKey, type FirstKey } from "./first-key.ts";
import { databasePlace, type DatabasePlace } from "./database-place.ts";
import { createListener } from "./listener.ts";
import { builtInModel, packageVersion } from "./package.ts";
import { requireServed } from "../../inference/runtime/served-platform.ts";
import { connectionsThatFit, openFilesMax } from "./open-files.ts";
import { keepDataPrivate, keepNewFilesPrivate } from "./private-files.ts";
import { createQueueCheck } from "./checks/queue-check.ts";
import { createVersionWatch } from "./checks/version-watch.ts";
import { compareAdapters, comparisonFault, type AdapterComparison } from "./data-folder/compare-adapters.ts";
import { sweepDataFolder, sweepOfDeadServers } from "./data-folder/sweep.ts";
import { createVersionRecords, type VersionRecords } from "./data-folder/version-records.ts";
import { unofferedConstraint } from "./constraints/unoffered.ts";
import { addedBases } from "./library/added-models.ts";
import type { BaseTexts } from "./bases/base-texts.ts";
import { failedBaseError, loadFaults, requireOne, type FailedBase } from "./bases/failed-bases.ts";
import { engineHealth, idleHealth, listedBases } from "./bases/listed-bases.ts";
import { usableDevice } from "../../inference/engine/device/usable-device.ts";
import { createServedBases, findBase, servedBases, type EngineBase } from "./bases/served-bases.ts";
import { answerFirstChats } from "./first-chats.ts";
import { trainerElsewhere } from "./trainer-elsewhere.ts";
import { eventWriter } from "./webhooks/event-writer.ts";

export interface Server extends Service {
  /** Where it listens; known once it has started. */
  readonly url: string;
  /** The first key's secret, where it is known. */
  readonly adminKey: string | null;
  /** The first key's secret, when this start made it. */
  readonly newAdminKey: string | null;
  /** Where the first key's secret is to be found, for people. */
  readonly adminKeyPlace: string;
  /** What it serves, the default first; empty before it has started. */
  readonly baseModels: readonly ListedBase[];
  /** Resolves with why it must be stopped, where it cannot go on: nobody who asks it is told so otherwise. */
  readonly outdated: Promise<ServiceError>;
  /** For whom it logs. */
  readonly logFormat: LogStyle["format"];
}

/** What is known of a server once it is up. */
interface Facts {
  readonly url: string;
  readonly firstKey: FirstKey;
  readonly baseModels: readonly ListedBase[];
}

/** A server of this configuration; nothing happens before `start`. */
export function createServer(config: HoneConfig, overrides: SettingsOverrides = {}): Server {
  let facts: Facts | null = null;
  let endWith: (reason: ServiceError) => void = () => undefined;
  const outdated = new Promise<ServiceError>((resolve) => (endWith = resolve));
  const life = serviceOfParts("server", async (start) => {
    facts = await build(config, wholeSettings(config, overrides), {
      start,
      onOutdated: (reason) => endWith(reason),
    });
  });
  return {
    ...life,
    get url() {
      return facts?.url ?? "";
    },
    get adminKey() {
      return facts?.firstKey.secret ?? null;
    },
    get newAdminKey() {
      return facts?.firstKey.isNew ? facts.firstKey.secret : null;
    },
    get adminKeyPlace() {
      return facts?.firstKey.place ?? "";
    },
    get baseModels() {
      return facts?.baseModels ?? [];
    },
    outdated,
    logFormat: logFormat(config.server.logFormat),
  };
}

interface Building {
  readonly start: (part: Service) => Promise<void>;
  /** Called once at most. */
  readonly onOutdated: (reason: ServiceError) => void;
}

/** Builds every part, and starts each after those it needs. */
async function build(
  config: HoneConfig,
  settings: WholeSettings,
  { start, onOutdated }: Building,
): Promise<Facts> {
  // Before anything is written: parts that start early keep what they compute.
  keepNewFilesPrivate();
  requireServed();
  settleChildEnvironment();
  const { host, port, data, drainSeconds } = config.server;
  const artifactPlace = artifactPlaceOf(config);
  if (artifactPlace.kind === "bucket") addToChildEnvironment(storeEnvironment);
  const log: LogStyle = { level: config.server.logLevel, format: logFormat(config.server.logFormat) };
  const recentLog = new RecentLog();
  const logger = createLogger(log, recentLog);
  const metrics = createMetrics({ processMetrics: true });
  countDroppedLines(metrics);
  const telemetry = await startOpenTelemetry(config.openTelemetry, {
    version: packageVersion(),
    clock: systemClock,
    metrics,
    logger,
  });
  // Stopped last: what the others do then is still traced.
  await start(telemetry);
  // Before anything is opened or loaded: a taken port is known at once, and requests are told that the server starts.
  const listener = createListener({ host, port });
  await start(listener);
  const place = databasePlace(config);
  const blobs = artifactPlace.kind === "folder" ? artifactPlace.root : data;
  await keepDataPrivate({ data, blobs, database: place }, logger);
  const database = await place.open({
    isShared: false,
    onChange: (fault) =>
      fault === null
        ? logger.warn({ database: place.name }, "the database is back")
        : logger.error({ database: place.name, fault }, "the database cannot be reached; trying again"),
  });
  await start(serviceOf("database", { stop: () => database.close() }));
  const versionWatch = createVersionWatch({
    readVersion: () => database.version(),
    isForMany: place.isForMany,
    onOutdated,
    clock: systemClock,
    logger,
  });
  await start(versionWatch);
  const audit = createAuditLog(auditFile(config), logger);
  await start(audit);
  metrics.gauge(
    {
      name: "hone_audit_log_failing",
      help: "1 while the audit log cannot be written, so that changes are refused; 0 otherwise.",
    },
    () => [{ value: audit.fault() === null ? 0 : 1 }],
  );
  const keys = auditedKeys(database.keys, (entry) => audit.recordDurably(entry), database.clock);
  const firstKey = await ensureFirstKey({
    keys,
    settings: config.server,
    clock: database.clock,
    logger,
  });
  let isUp = false;
  let isDraining = false;
  let address: Address = { host, port };
  const ground = {
    place,
    artifactPlace,
    database,
    keys,
    log,
    logger,
    recentLog,
    metrics,
    telemetry,
    audit,
    databaseNote: () => versionWatch.note(),
    isUp: () => isUp,
    isDraining: () => isDraining,
    listening: () => address,
  };
  const parts = await construct(config, settings, ground);
  const {
    bases,
    failed,
    chat,
    embeddings,
    runner,
    checker,
    lease,
    uses,
    publishedVersions,
    jobQueue,
    standingRules,
    checkpointFiles,
    files,
    recorder,
    sweeper,
    keyUse,
    usage,
    limiter,
    traces,
    http,
    warmUp,
    sweep,
    records,
    deliverer,
  } = parts;
  await start(lease);
  await start(uses);
  await start(publishedVersions);
  await sweep();
  const [serves, trains] = ["serve", "train"].map((role) => config.server.roles.includes(role));
  if (serves) await start(beginning(bases));
  await start(checker);
  await start(runner);
  await start(serviceOf("checkpoint files", { stop: () => checkpointFiles.close() }));
  await start(files);
  await start(recorder);
  await start(keyUse);
  await start(usage);
  await start(limiter);
  await start(traces.files);
  // From here on health says which models load, and what needs none is answered.
  await start(listener.handOverTo(await createHttpServer(http)));
  address = { host, port: Number(new URL(listener.url()).port || 80) };
  if (serves) {
    // One that cannot be loaded says so in lists and to requests, and is in the log; the others are served.
    const startAny = (part: Service): Promise<void> => start(part).catch(() => undefined);
    await Promise.all(bases.map((base) => startAny(base.engine)));
    endEnginesAhead();
    // The prompt threads load the tokenizers once more, and do so when the engines take no processor for their start any more.
    await Promise.all(bases.map((base) => startAny(base.texts)));
    requireOne(bases, failed);
    if (settings.server.firstChats) await warmUp();
  }
  isUp = true;
  // Hashes of bases that were not known are the engines', which have just made them.
  await records.completeBases();
  if (trains) await start(jobQueue);
  if (serves) {
    await start(standingRules);
    await start(deliverer);
  }
  await start(sweeper);
  const finishChats = async (): Promise<void> => {
    isDraining = true;
    await drain({ isIdle: () => chat.runningCount + embeddings.runningCount === 0, seconds: drainSeconds });
  };
  // Stopped first: no new work, and running chats finish. Then running jobs are parked for the next start.
  await start(serviceOf("chats", { stop: finishChats }));
  return { url: listener.url(), firstKey, baseModels: http.baseModels() };
}

interface Parts {
  readonly bases: readonly EngineBase[];
  readonly failed: readonly FailedBase[];
  readonly chat: ChatService;
  readonly embeddings: EmbeddingService;
  readonly runner: ChildJobRunner;
  readonly checker: ConstraintChecker;
  readonly lease: ServerLease;
  readonly uses: VersionUses;
  readonly publishedVersions: PublishedVersions;
  readonly jobQueue: JobQueue;
  readonly standingRules: StandingRules;
  readonly checkpointFiles: CheckpointFiles;
  readonly files: FileService;
  readonly recorder: Recorder;
  readonly sweeper: Sweeper;
  readonly keyUse: KeyUse;
  readonly usage: UsageMeter;
  readonly limiter: RateLimiter;
  readonly traces: ProjectTraces;
  readonly http: HttpDependencies;
  /** See {@link answerFirstChats}. */
  readonly warmUp: () => Promise<void>;
  /** Removes what an earlier run left behind. */
  readonly sweep: () => Promise<void>;
  readonly records: VersionRecords;
  readonly deliverer: Deliverer;
}

/** What the parts stand on. */
interface Ground {
  readonly place: DatabasePlace;
  readonly artifactPlace: ArtifactPlace;
  readonly database: Stores;
  /** The database's, whose changes the audit log has. */
  readonly keys: KeyStore;
  readonly log: LogStyle;
  readonly logger: Logger;
  readonly recentLog: RecentLog;
  readonly metrics: Metrics;
  readonly telemetry: Telemetry;
  readonly audit: AuditLog;
  /** See {@link HttpDependencies.databaseNote}. */
  readonly databaseNote: () => string | null;
  /** Whether requests are answered as fast as they will be. */
  readonly isUp: () => boolean;
  readonly isDraining: () => boolean;
  readonly listening: () => Address;
}

/** Everything on top of the database, in reading order; nothing of it runs yet. */
async function construct(
  config: HoneConfig,
  settings: WholeSettings,
  {
    place,
    artifactPlace,
    database,
    keys,
    log,
    logger,
    metrics,
    telemetry,
    recentLog,
    audit,
    databaseNote,
    isUp,
    isDraining,
    listening,
  }: Ground,
): Promise<Parts> {
  const { clock } = database;
  const version = packageVersion();
  const { data: dataFolder, model: named, defaultModel, quantize: quantization } = config.server;
  const builtIn = config.server.builtInModel === "on" ? builtInModel() : null;
  const artifacts = openArtifacts(artifactPlace, { server: () => lease.id });
  const folder = new ServerFolder({ root: dataFolder, server: () => lease.id });
  const cacheOf = (model: string): string => folder.cacheOf(model);
  const folderOfFile = (file: string): string => ensureGgufFolder(file, cacheOf(file));
  const added = addedBases(dataFolder);
  const listed = listBaseModels({ named, defaultModel, added, folderOfFile, quantization }, builtIn);
  const baseNames = listed.map((model) => model.name);

  const device = await usableDevice(config.server.device, builtInModel().folder);
  const observer = memoryObserver(metrics, logger, baseNames);
  const { bases, failed, memory } = await createServedBases(listed, {
    cacheOf,
    settings,
    device,
    observer,
    clock,
    log,
    logger,
  });
  requireOne(bases, failed);
  const models = bases.map(({ model }) => model);
  const engineOf = (name: string): Engine | undefined =>
    bases.find(({ model }) => model.name === name)?.engine;
  const textsOf = (name: string): BaseTexts => findBase({ bases, failed }, name).texts;
  /** Of the weights that a base's engine computes with, or did when it was loaded last. */
  const weightsOf = (name: string): string | null => {
    const state = engineOf(name)?.status().state;
    return (state?.kind === "ready" ? state.weights : records.hashesOf(name)?.weights) ?? null;
  };
  const build = `hone-${version}`;
  const directory = createModelDirectory({
    store: database.models,
    bases: baseNames,
    defaultBase: listed[0].name,
    weightsOf,
    artifacts,
    useVersion: (version) => uses.use(version),
    precisionOf: (name) => bases.find(({ model }) => model.name === name)?.precision ?? null,
    build,
  });
  const shelf = servedBases({ bases, failed });
  const exchange = createPromptExchange({
    settings: settings.transfer,
    build,
    listening,
    engines: () => bases.flatMap(({ engine }) => engine.transfers ?? []),
    clock,
    metrics,
    logger,
  });
  const room = createStorageQuotas({
    store: database.retention,
    settings: settings.retention,
    clock,
    metrics,
  });
  const recorder = createRecorder({
    store: database.completions,
    settings: settings.recordings,
    room,
    clock,
    metrics,
    logger,
  });
  const keyUse = createKeyUse({
    keys: database.keys,
    clock,
    onFault: (error) => logger.warn({ err: error }, "when keys were used is not written"),
  });
  const usage = createUsageMeter({
    store: database.usage,
    clock,
    onFault: (error) => logger.warn({ err: error }, "what keys used is not written yet"),
  });
  const places = new WaitingPlaces(settings.engine.waitingCountMax);
  const chat = createChatService({
    places,
    directory,
    bases: shelf,
    exchange,
    recorder,
    usage,
    clock,
    metrics,
    genAi: telemetry.genAi,
    logger,
  });
  const embeddings = createEmbeddingService({ places, directory, bases: shelf, metrics, usage });

  const isServing = config.server.roles.includes("serve");
  const prepareVersion = async (version: ModelVersion, baseModel: string): Promise<void> => {
    if (!isServing) return;
    const adapter = await adapterOf(version, artifacts);
    if (adapter !== null) await engineOf(baseModel)?.prepareAdapter(adapter);
  };

  const baseFolders = new Map(models.map((model) => [model.name, model.folder]));
  const checkpointFiles = new CheckpointFiles({
    store: database.models,
    baseFolders,
    artifacts,
    useVersion: (version) => uses.use(version),
    folder,
    clock,
    settings: settings.models,
    // What was imported is stored: an engine that is down or refuses it says so to whoever asks for it.
    prepareVersion: (version, baseModel, by) =>
      prepareVersion(version, baseModel).catch((error: unknown) => {
        const fields = { ...by, err: error, modelId: version.modelId };
        logger.warn(fields, "an imported version could not be loaded yet");
      }),
    // What is left undone here is done at the next version, or the next start.
    onNewVersion: (modelId, by) =>
      modelService.deleteOlderVersions(modelId).catch((error: unknown) => {
        logger.warn({ ...by, err: error, modelId }, "older versions could not be deleted");
      }),
  });
  const taught = bases.filter(({ replies }) => replies.callFormat?.isTaught === true);
  const runner = createChildJobRunner({
    artifacts,
    folder,
    baseFolders,
    weightless: config.server.roles.includes("train") ? weightless(models) : new Set(),
    toolsAsText: new Set(taught.map(({ model }) => model.name)),
    precisions: new Map(
      bases.flatMap(({ model, precision }) => (precision ? [[model.name, precision]] : [])),
    ),
    trajectoryLines: (jobId) => database.jobs.trajectoryLines(jobId),
    settings: settings.training,
    elsewhere: trainerElsewhere(config.server),
    version,
    clock,
    logger,
  });
  const lease = new ServerLease(
    {
      servers: database.servers,
      baseModels: models.map(({ name }) => name),
      artifacts: await artifacts.placeId(),
      clock,
      logger,
    },
    settings.jobs,
  );
  const limiter = createRateLimiter({
    store: database.limits,
    clock,
    serverId: () => lease.id,
    onFault: (error) =>
      logger.warn({ err: error }, "what counts for limits is not shared with other servers"),
    metrics,
  });
  const adaptersInUse = (): Iterable<string> =>
    [chat, embeddings, checkpointFiles].flatMap((user) => [...user.adaptersInUse()]);
  const sweptStores = { models: database.models, jobs: database.jobs, servers: database.servers };
  const policies = keepPolicies(settings.retention);
  const sweeper = createSweeper({
    store: database.retention,
    policies,
    settings: settings.retention,
    owner: () => lease.id,
    clearDead: place.isForMany
      ? sweepOfDeadServers({
          artifacts,
          ...sweptStores,
          runner,
          clock,
          logger,
          graceMs: goneMs(settings.jobs),
        })
      : async () => undefined,
    trimAudit: (before) => trimAudit(auditFile(config), before, clock.now()),
    clock,
    audit,
    metrics,
    logger,
  });
  const uses = new VersionUses({
    store: database.models,
    server: () => lease.id,
    adaptersInUse,
    clock,
    onFault: (error) => logger.warn({ err: error }, "what versions this server uses could not be written"),
  });
  const publishedVersions = new PublishedVersions({
    announcements: database.announcements,
    store: database.models,
    modelsInUse: () => uses.models(),
    prepareVersion,
    onFault: (error, modelId) =>
      logger.warn({ err: error, modelId }, "a published version could not be loaded in advance"),
  });
  const jobQueue = new JobQueue(
    {
      jobs: database.jobs,
      models: database.models,
      runner,
      prepareVersion,
      onNewVersion: (modelId) => modelService.deleteOlderVersions(modelId),
      clock,
      metrics: createAttemptMetrics(metrics),
      tracing: telemetry.tracing,
      logger,
      lease,
      announcements: database.announcements,
    },
    settings.jobs,
  );
  const modelService = createModelService({
    store: database.models,
    bases: baseNames,
    clock,
    directory,
    copyAdapter: (source, modelId) => checkpointFiles.copy(source, modelId),
    trainingKindOf: (version) => trainingKindOf({ jobs: database.jobs }, version),
    deleteRecordings: (modelId) => database.completions.deleteOfModel(modelId),
    cancelJobs: (modelId) => jobQueue.cancelAll(modelId),
    weightsOf,
    dropAdapter: (id) => bases.forEach(({ engine }) => engine.dropAdapter(id)),
    discardState: (state) => runner.discardState(state),
    adaptersInUse,
    artifacts,
    server: () => lease.id,
    settings: config.models,
  });

  const comparedStores = { artifacts, models: database.models, jobs: database.jobs };
  let compared: AdapterComparison = { missing: [], unknown: [] };
  const files = createFileService({
    store: database.files,
    clock,
    artifacts,
    settings: settings.files,
    onFault: (error) => logger.warn({ err: error }, "unused files could not be removed"),
  });

  const allowed = readAllowedPlaces(settings.webhooks.allowed);
  const deliverer = new Deliverer(
    {
      store: database.webhooks,
      bodyOf: eventWriter(database),
      allowed,
      userAgent: build,
      clock,
      random: seededRandom(freshSeed()),
      metrics,
      logger,
    },
    settings.webhooks,
  );
  const objects = createObjectService({ store: database.objects, clock });
  const traces = createProjectTraces({
    store: database.traces,
    objects,
    artifacts,
    clock,
    settings: settings.traces,
    onFault: (error) => logger.warn({ err: error }, "files of traces that nobody knows could not be removed"),
  });

  const checker = createConstraintChecker({
    limits: settings.constraints,
    seconds: settings.http.checkSeconds,
  });
  const connections = connectionsThatFit(settings.http.connections, openFilesMax());
  if (connections < settings.http.connections)
    logger.info({ connections }, "the limit on open files allows fewer connections than are configured");
  const feedback = createFeedbackService(
    { store: database.feedback, queues: database.annotation, specs: database.objects, clock, room },
    settings.feedback,
  );
  const rewardDependencies = {
    feedback: database.feedback,
    completions: database.completions,
    sources: database.sources,
    rules: database.rules,
    jobs: database.jobs,
    models: database.models,
    sequenceLengthMax: settings.training.sequenceLengthMax,
    clock,
    settings: settings.rewards,
  };
  const standingRules = new StandingRules({
    ...rewardDependencies,
    submit: (job, lines, more) => jobQueue.submit(job, lines, null, more),
    conditionOf: (filter) => readFilter(filter, feedback.queryLimits),
    owner: () => lease.id,
    logger,
  });
  const http: HttpDependencies = {
    chat,
    tokenization: createTokenizationService({ directory, bases: shelf }),
    embeddings,
    exchange,
    page: isServing ? pageReader() : () => null,
    engineHealth: () => (isServing ? engineHealth : idleHealth)(bases, failed, { isUp: isUp() }),
    databaseFault: () => database.fault(),
    databaseNote,
    checkDatabase: () => checkDatabase(database),
    checkJobs: createQueueCheck({ jobs: database.jobs, jobQueue, clock }),
    checks: {
      disk: createDiskCheck(
        [dataFolder, ...(artifactPlace.kind === "folder" ? [artifactPlace.root] : []), place.folder],
        clock,
      ),
      ...(artifactPlace.kind === "bucket" ? { blobs: createBucketCheck(artifactPlace.bucket, clock) } : {}),
      adapters: createAdapterCheck({ models: database.models, artifacts, clock, logger }),
      data_folder: async () => {
        const fault = await comparisonFault(compared, comparedStores);
        if (fault !== null) throw fault;
      },
      models: async () => {
        const faults = loadFaults(isServing ? bases : [], failed);
        if (faults.length > 0) throw failedBaseError(faults.join(" "));
      },
      bases: createBaseCheck({ models: database.models, bases: baseNames, weightsOf, clock }),
    },
    checkConstraint: async (name, constraint, { instances, ...options }) => {
      const unoffered = unofferedConstraint(constraint, engineOf(name));
      if (unoffered !== null) return unoffered;
      const { texts, release } = await textsOf(name).use();
      const asked = { name, vocabulary: texts.vocabulary };
      return checker.check(asked, constraint, instances, options).finally(release);
    },
    baseModels: () => listedBases(baseNames, { bases, failed }),
    directory,
    keys: database.keys,
    keyService: createKeyService({ keys, clock }),
    keyUse,
    usage: database.usage,
    announcements: database.announcements,
    room,
    retention: { store: database.retention, sweeper, policies },
    limiter,
    limits: createEntityLimits(auditedLimits(database.limits, (entry) => audit.recordDurably(entry), clock)),
    entityLimits: entityLimitsOf(settings.keys),
    models: modelService,
    checkpointFiles,
    versions: database.models,
    jobs: database.jobs,
    jobQueue,
    trajectories: database.trajectories,
    completions: database.completions,
    feedback,
    rewards: new RewardService(rewardDependencies),
    annotation: createAnnotationService({
      store: database.annotation,
      feedback,
      findSpec: (projectId, reference) => findSpecText(database.objects, projectId, reference),
      records: database.feedback,
      completions: database.completions,
      clock,
      settings: settings.annotation,
    }),
    objects,
    traces,
    files,
    webhooks: createWebhookService({ store: database.webhooks, clock, allowed, settings: settings.webhooks }),
    isServing,
    isDraining,
    metrics,
    tracing: telemetry.tracing,
    logger,
    recentLog,
    audit,
    clock,
    settings: { ...settings.http, connections },
    auth: config.server.auth,
    defaultEntity: config.server.entity,
    users: createSignedInUsers({
      settings: config.users,
      defaultEntity: config.server.entity,
      clock: systemClock,
    }),
    operatorRoutes: operatorRoutesOf(config),
    version,
  };
  exposeGauges(metrics, { bases, memory, jobQueue });
  exposeVllmGauges(metrics, { bases, chat, slotCountMax: settings.engine.slotCountMax, clock });
  const { models: modelStore } = database;
  const { optimizerStatesKept } = settings.jobs;
  const sweep = async (): Promise<void> => {
    await modelService.deleteAllOlderVersions();
    const places = { artifacts, folder, root: dataFolder, hasOthers: place.isForMany };
    await sweepDataFolder({ ...places, ...sweptStores, runner, optimizerStatesKept, clock, logger });
    compared = await compareAdapters(comparedStores);
    const fault = await comparisonFault(compared, comparedStores);
    if (fault !== null) logger.error(compared, fault.message);
  };
  const warmUp = async (): Promise<void> => {
    const loaded = bases.filter(({ engine }) => engine.status().state.kind === "ready");
    const names = loaded.map(({ model }) => model.name);
    await answerFirstChats(names, http, { directory, bases: shelf, clock });
  };
  const records = createVersionRecords({ models, store: modelStore, cacheOf, logger });
  return {
    bases,
    failed,
    chat,
    embeddings,
    runner,
    checker,
    lease,
    uses,
    publishedVersions,
    jobQueue,
    standingRules,
    checkpointFiles,
    files,
    recorder,
    sweeper,
    keyUse,
    usage,
    limiter,
    traces,
    http,
    warmUp,
    sweep,
    records,
    deliverer,
  };
}

/**
 * The engines begin to load their models while HTTP is made ready. Each is waited for in its own place, where it says what
 * went wrong, and stopped in that order; here it ends where a start does not come so far, and so do the texts, which wait
 * for prompts for a while behind an engine that was let go.
 */
function beginning(bases: readonly EngineBase[]): Service {
  return serviceOf("bases that begin", {
    start: async () => {
      for (const { engine } of bases) engine.start().catch(() => undefined);
    },
    stop: async () =>
      void (await Promise.all(bases.flatMap(({ engine, texts }) => [engine.stop(), texts.stop()]))),
  });
}

/** Those whose weights are not among their files, which others compute. */
function weightless(models: readonly BaseModel[]): ReadonlySet<string> {
  const without = models.filter(({ engine, folder }) => engine.kind !== "embedded" && !hasWeights(folder));
  return new Set(without.map(({ name }) => name));
}

function countDroppedLines(metrics: Metrics): void {
  metrics.countedElsewhere(
    {
      name: "hone_log_lines_dropped_total",
      help: "Log lines dropped since nobody read the log in time, or it could not be written.",
    },
    () => [{ value: standardStream(2).droppedCount }],
  );
}

/** `auto` is open to this machine where only it is served, and to all where nothing asks for a key. */
function operatorRoutesOf({ http, server: { auth, host } }: HoneConfig): HttpDependencies["operatorRoutes"] {
  if (http.operatorRoutes !== "auto") return http.operatorRoutes;
  if (auth === "off") return "open";
  return isLoopback(host) ? "local" : "key";
}

/** Waits until nothing runs, or the time is up; what still runs then is broken off with an error of its own. */
async function drain(options: { readonly isIdle: () => boolean; readonly seconds: number }): Promise<void> {
  const end = systemClock.monotonicMs() + options.seconds * 1000;
  while (!options.isIdle() && systemClock.monotonicMs() < end) await systemClock.sleep(20);
}
