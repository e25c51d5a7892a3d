// For tests: the HTTP server with real in-memory stores, a fake chat service, an administrator's key, and a member's
// key for each of two entities. `ask` sends any request, and checks that the answer is as documented. Jobs run only if
// a test calls `playJob`.
import { noPrices } from "../../../base/domain/costs/prices.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from "fastify";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { assert } from "../../../base/domain/assert.ts";
import {
  freshKey,
  hashSecret,
  type Caller,
  type KeyRole,
  type KeyStore,
} from "../../../base/domain/access.ts";
import { systemClock, type Clock } from "../../../base/domain/clock.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { notFound } from "../../../base/domain/service-error.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { selected } from "../../../base/domain/testing/feedback-queries/answer-in-memory.ts";
import type { FeedbackQuery, FeedbackResult } from "../../../base/domain/feedback-query/feedback-query.ts";
import { feedbackSettings, queryLimits } from "../../../judge/feedback/settings.ts";
import type { JobCounts, JobEvent, JobRunner } from "../../../base/domain/job.ts";
import { type KeyLimits, noLimits } from "../../../base/domain/keys/limits.ts";
import type { TrainerProfile } from "../../../base/domain/trainer/profile.ts";
import type { Metrics } from "../../../base/domain/trajectory.ts";
import type { AuditEntry } from "../../../base/telemetry/audit-log.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { createMetrics } from "../../../base/telemetry/metrics.ts";
import { RecentLog } from "../../../base/telemetry/recent-log.ts";
import { createAnnotationService } from "../../../judge/annotation/annotation-service.ts";
import { annotationSettings } from "../../../judge/annotation/settings.ts";
import { type FeedbackBatch, recordsIn } from "../../../base/domain/feedback-query/feedback-batch.ts";
import type { FeedbackInput } from "../../../judge/feedback/check-content.ts";
import { newUuid } from "../../../base/domain/random.ts";
import type { ExportedFile } from "../../../inference/models/checkpoints/checkpoint-files.ts";
import type { CreatedBatch, FeedbackService } from "../../../judge/feedback/feedback-service.ts";
import { findSpecText } from "../../../judge/feedback/specs/annotation-specs.ts";
import { createObjectService } from "../../../judge/weave/object-service.ts";
import { createProjectTraces } from "../../../judge/weave/project-traces.ts";
import { traceSettings } from "../../../judge/weave/settings.ts";
import type { FeedbackStatistics } from "../../../judge/feedback/reading/feedback-statistics.ts";
import type { RecordSelection } from "../../../judge/feedback/reading/record-pages.ts";
import { createFileService } from "../../../train/uploads/file-service.ts";
import { fileSettings, type FileSettings } from "../../../train/uploads/settings.ts";
import { JobQueue } from "../../../train/jobs/job-queue.ts";
import { fakeSessions } from "../../../train/sessions/testing/fake-sessions.ts";
import { createKeyService } from "../../../access/keys/key-service.ts";
import { createEntityLimits } from "../../../access/keys/limits/entity-limits.ts";
import { createRateLimiter } from "../../../access/keys/limits/rate-limiter.ts";
import { createKeyUse } from "../../../access/keys/key-use.ts";
import { jobSettings, type JobSettings } from "../../../train/jobs/settings.ts";
import { checkConstraint } from "../../../lib/constraints/grammar/check.ts";
import { vocabularyOf } from "../../../lib/constraints/grammar/testing/vocabularies.ts";
import { defaultGrammarLimits } from "../../../lib/constraints/regex/limits.ts";
import { createModelDirectory } from "../../../inference/models/registry/model-directory.ts";
import { createModelService } from "../../../inference/models/registry/model-service.ts";
import { createStorageQuotas } from "../../../store/retention/quotas.ts";
import {
  keepPolicies,
  type RetentionSettings,
  retentionSettings,
} from "../../../store/retention/settings.ts";
import { createSweeper } from "../../../store/retention/sweeper.ts";
import { RewardService } from "../../../train/rewards/reward-service.ts";
import { rewardSettings } from "../../../train/rewards/settings.ts";
import { LearningService } from "../../../train/learning/learning-service.ts";
import { RolloutService } from "../../../train/rollouts/rollout-service.ts";
import { RunningCalls } from "../../../train/rollouts/running-calls.ts";
import { rolloutSettings, type RolloutSettings } from "../../../train/rollouts/settings.ts";
import type { Stores } from "../../../store/database/stores.ts";
import { storesUntilClosed } from "../../../store/database/testing/stores-in-memory.ts";
import { embeddedProfile } from "../../../train/trainer/embedded/profile.ts";
import { readEgressAllowlist } from "../../webhooks/egress-allowlist.ts";
import { webhookSettings } from "../../webhooks/settings.ts";
import { createWebhookService } from "../../webhooks/webhook-service.ts";
import type { ApiDocument } from "./api-document.ts";
import type { ChatPort, EngineHealth, HttpDependencies } from "../dependencies.ts";
import { createHttpServer } from "../server.ts";
import { httpSettings, type HttpSettings } from "../settings.ts";
import { checkAnswer } from "./documented-answers.ts";
import { FakeChat } from "./fake-chat.ts";
import { rolloutRecorder } from "./rollout-recorder.ts";
import { takeApp } from "./shared-apps.ts";

const listedReplies = {
  calls: { format: "off", reason: "it is a fake" },
  thoughts: { areRead: false, reason: "it is a fake" },
};

export const keys = { admin: "hone_admin", member: "hone_member", other: "hone_other" } as const;
export const bearer = (key: string = keys.admin): string => `Bearer ${key}`;
export const basic = (key: string = keys.admin): string =>
  `Basic ${Buffer.from(`api:${key}`).toString("base64")}`;

export interface FakeServerOptions {
  /** True to build a server for this test only, because the test reads what the server itself counts. */
  readonly isOwn?: boolean;
  readonly settings?: Partial<HttpSettings>;
  readonly clock?: Clock;
  readonly auth?: "on" | "off";
  readonly logger?: Logger;
  readonly recentLog?: RecentLog;
  readonly jobSettings?: Partial<JobSettings>;
  /** Default limits, for entities without limits of their own. */
  readonly entityLimits?: KeyLimits;
  readonly retentionSettings?: Partial<RetentionSettings>;
  readonly fileSettings?: Partial<FileSettings>;
  readonly rolloutSettings?: Partial<RolloutSettings>;
  /** True to record the fake chat service's answers to calls of rollouts. */
  readonly recordsRollouts?: boolean;
  /** Profile of the trainer; by default the profile of the embedded trainer. */
  readonly trainer?: TrainerProfile;
  /** Chat service to use instead of the fake one. */
  readonly chat?: ChatPort;
  /** Returns the dependencies to use. The argument has the default dependencies. */
  readonly wrap?: (dependencies: HttpDependencies) => HttpDependencies;
  /** Returns real services on the server's stores. They replace the fake services. */
  readonly services?: (
    stores: Stores,
  ) => Partial<Pick<HttpDependencies, "chat" | "tokenization" | "embeddings" | "feedback" | "annotation">>;
}

/** Fake feedback service that stores feedback in memory and returns it. */
class FakeFeedback implements FeedbackService {
  readonly seen: { readonly input: FeedbackInput; readonly caller: Caller }[] = [];
  readonly deleted: { readonly projectId: string; readonly ids: readonly string[] }[] = [];
  readonly queryLimits = queryLimits(feedbackSettings.with());
  readonly packForm = "columns";
  refusal: Error | null = null;

  async createBatch(batch: FeedbackBatch, caller: Caller): Promise<CreatedBatch> {
    for (const { id, content } of recordsIn(batch)) await this.create({ ...content, id }, caller);
    return { kind: "new", createdAt: new Date(0) };
  }

  async create(input: FeedbackInput, caller: Caller): Promise<FeedbackRecord> {
    if (this.refusal !== null) throw this.refusal;
    this.seen.push({ input, caller });
    const id = input.id ?? `made-${this.seen.length}`;
    return { ...input, id, createdAt: new Date(0), vendorUserId: caller.owner, contentHash: "" };
  }

  async replace(feedbackId: string, input: FeedbackInput, caller: Caller): Promise<FeedbackRecord> {
    return this.create({ ...input, id: feedbackId }, caller);
  }

  async query({ limit, offset, ...query }: FeedbackQuery): Promise<FeedbackResult> {
    const records = this.seen.map(({ input, caller }, index) => ({
      ...input,
      id: input.id ?? `made-${index + 1}`,
      createdAt: new Date(0),
      vendorUserId: caller.owner,
      contentHash: "",
    }));
    const found = selected(records, query);
    return { items: found.slice(offset, offset + limit), totalCount: found.length };
  }

  async *pages(selection: RecordSelection): AsyncGenerator<readonly FeedbackRecord[], void> {
    if (this.refusal !== null) throw this.refusal;
    yield (await this.query({ ...selection, sortBy: [], limit: 1000, offset: 0 })).items;
  }

  async statistics(): Promise<FeedbackStatistics> {
    if (this.refusal !== null) throw this.refusal;
    return { totalCount: 0, types: [], otherTypesCount: 0, share: 1, sampleCount: 0 };
  }

  async delete(projectId: string, ids: readonly string[]): Promise<void> {
    this.deleted.push({ projectId, ids });
  }

  async history(): Promise<{ readonly items: readonly []; readonly hasMore: boolean }> {
    return { items: [], hasMore: false };
  }
}

/** Creates a server with fake services. Tests script the fakes, and inspect what they received. */
export async function fakeServer(options: FakeServerOptions = {}) {
  const chat = new FakeChat();
  const database = await storesUntilClosed();
  const { models, jobs, trajectories } = database;
  const feedback = new FakeFeedback();
  await addKeys(database.keys);
  const engine: EngineHealth = { state: "ready", reason: "", models: { tiny: "loaded" } };
  const state = {
    engine,
    isDraining: false,
    isDatabaseDown: false,
    databaseFault: null as string | null,
    databaseNote: null as string | null,
    diskFault: null as Error | null,
    jobFault: null as Error | null,
  };
  const baseModels = ["tiny", "small"];
  const unloaded = new Set<string>();
  const servedBase = (name: string): string => {
    if (baseModels.includes(name)) return name;
    throw notFound("base model", name);
  };
  await database.servers.create("server", { until: new Date(0), baseModels, artifacts: "shared" });
  const clock = options.clock ?? systemClock;
  const jobQueue = new JobQueue(
    {
      jobs,
      models,
      runner: { ...noRunner, trainer: options.trainer ?? embeddedProfile },
      clock,
      logger: silentLogger,
      announcements: database.announcements,
      lease: { id: "server" },
    },
    jobSettings.with(options.jobSettings),
  );
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-http-"));
  const files = createFileService({
    store: database.files,
    uploads: database.uploads,
    clock,
    artifacts: dataFolderAt(dataFolder).artifacts,
    settings: fileSettings.with(options.fileSettings),
    onFault: (error) => assert(false, `a sweep fails: ${String(error)}`),
  });
  const objects = createObjectService({ store: database.objects, clock });
  const noArtifacts = dataFolderAt(join(dataFolder, "none")).artifacts;
  const keyUse = createKeyUse({
    keys: database.keys,
    clock,
    onFault: (error) => assert(false, `the use of a key is not written: ${String(error)}`),
  });
  const policies = keepPolicies(retentionSettings.with());
  const metrics = createMetrics({ processMetrics: false });
  const limiter = createRateLimiter({
    store: database.limits,
    clock,
    serverId: () => "server",
    onFault: (error) => assert(false, `what was counted is not stored: ${String(error)}`),
    // Names of metrics may be registered only once, and a shared server has registered its own.
    metrics: options.isOwn === true ? metrics : createMetrics({ processMetrics: false }),
  });
  const room = createStorageQuotas({
    store: database.retention,
    settings: retentionSettings.with(options.retentionSettings),
    clock,
    metrics: createMetrics({ processMetrics: false }),
  });
  const submittedJobs: string[] = [];
  const droppedAdapters: string[] = [];
  const audited: AuditEntry[] = [];
  const directory = createModelDirectory({
    store: models,
    bases: baseModels,
    defaultBase: "tiny",
    weightsOf: () => "weights",
    artifacts: noArtifacts,
    useVersion: async () => true,
    build: "test",
  });
  const modelService = createModelService({
    store: models,
    directory,
    copyAdapter: async ({ step }, modelId) => ({
      adapterFolder: `adapters/${modelId}/1`,
      adapterHash: `copy of ${step}`,
      trainerState: null,
      keep: async () => undefined,
      discard: async () => undefined,
    }),
    trainingKindOf: async () => "rl",
    bases: baseModels,
    clock,
    deleteRecordings: (modelId) => database.completions.deleteOfModel(modelId),
    cancelJobs: (modelId) => jobQueue.cancelAll(modelId),
    dropAdapter: (id) => void droppedAdapters.push(id),
    discardState: async () => undefined,
    weightsOf: () => "weights",
    artifacts: noArtifacts,
  });
  if (options.recordsRollouts === true) chat.record = rolloutRecorder(database, clock);
  const runningCalls = new RunningCalls({ ...database, clock, onFault: () => undefined });
  const dependencies: HttpDependencies = {
    chat: options.chat ?? chat,
    exchange: null,
    page: async () => new Map(),
    guide: async () => new Map(),
    tokenization: {
      tokenize: async ({ wantsTexts }) => ({
        tokenIds: [7, 9],
        texts: wantsTexts ? ["a", "b"] : null,
        contextLength: 64,
      }),
      detokenize: async ({ tokenIds }) => tokenIds.join(" "),
    },
    embeddings: {
      embed: async ({ model, inputs, dimensions }) => ({
        model: model ?? "tiny",
        embeddings: inputs.map(() => new Float32Array(dimensions ?? 4).fill(0.1)),
        tokenCount: inputs.length,
      }),
    },
    engineHealth: () => state.engine,
    databaseFault: () => state.databaseFault,
    databaseNote: () => state.databaseNote,
    checkDatabase: async () => {
      if (state.isDatabaseDown) throw new Error("database is down");
    },
    checkJobs: async () => {
      if (state.jobFault !== null) throw state.jobFault;
    },
    checks: {
      disk: async () => {
        if (state.diskFault !== null) throw state.diskFault;
      },
    },
    checkConstraint: async (_, constraint, { instances }) =>
      checkConstraint(constraint, instances, {
        limits: defaultGrammarLimits,
        trie: vocabularyOf([]),
        clock: new FakeClock(),
      }),
    baseModels: () =>
      baseModels.map((name) => ({
        name,
        contextLength: 1024,
        vocabularySize: 512,
        isExact: true,
        replies: listedReplies,
        presence: { status: unloaded.has(name) ? "unloaded" : "loaded", reason: "" },
        memoryBytes: 2 ** 20,
        keyValueBytes: 2 ** 19,
        device: { device: "cpu", reason: "" },
        files: {
          weightBytes: 1000,
          license: "mit",
          format: "safetensors",
          architecture: "llama",
          size: { parameterCount: 1_234_000, width: 4 },
          precision: "float32",
        },
        weightsHash: null,
      })),
    baseMemory: {
      load: async (name) => void unloaded.delete(servedBase(name)),
      unload: async (name) => void unloaded.add(servedBase(name)),
    },
    directory,
    keys: database.keys,
    keyService: createKeyService({ keys: database.keys, clock }),
    keyUse,
    usage: database.usage,
    announcements: database.announcements,
    prices: noPrices,
    room,
    retention: {
      store: database.retention,
      sweeper: createSweeper({
        store: database.retention,
        policies,
        settings: retentionSettings.with({ stepPauseMs: 0 }),
        owner: () => "server",
        clearDead: async () => undefined,
        trimAudit: async () => undefined,
        clock,
        audit: { record: (entry) => void audited.push(entry) },
        metrics: createMetrics({ processMetrics: false }),
        logger: silentLogger,
      }),
      policies,
    },
    limiter,
    limits: createEntityLimits(database.limits),
    entityLimits: options.entityLimits ?? noLimits,
    models: modelService,
    sessions: fakeSessions({ store: models, models: modelService, clock, dataFolder }),
    checkpointFiles: {
      export: async (_model, _version, { format }) => [fileOf(`${format}.json`, "{}")],
      import: async ({ id: modelId }, archive) => {
        for await (const _ of archive);
        const draft = {
          id: newUuid(),
          modelId,
          metrics: {},
          base: null,
          adapterHash: null,
          copiedKind: null,
          createdAt: new Date(1000),
        };
        const version = await models.addVersion(draft, async (step) => `adapters/${modelId}/${step}`);
        return { version, ignored: ["README.md"] };
      },
    },
    versions: models,
    jobs,
    fineTuning: database.fineTuning,
    jobQueue: {
      submit: (job, ...rest) => {
        submittedJobs.push(job.id);
        return jobQueue.submit(job, ...rest);
      },
      replay: (job) => jobQueue.replay(job),
      retry: (job) => jobQueue.retry(job),
      cancel: (id) => jobQueue.cancel(id),
      limits: jobQueue.limits,
      watchEvents: (id, watch) => jobQueue.watchEvents(id, watch),
    },
    trajectories,
    completions: database.completions,
    feedback,
    rewards: new RewardService({
      ...database,
      sequenceLengthMax: 4096,
      clock,
      settings: rewardSettings.with(),
    }),
    learning: new LearningService({ ...database, directory, jobQueue, clock, isRecordingOff: false }),
    rollouts: new RolloutService({
      ...database,
      clock,
      settings: rolloutSettings.with(options.rolloutSettings),
      running: runningCalls,
      isRecordingOff: false,
    }),
    annotation: createAnnotationService({
      store: database.annotation,
      feedback,
      findSpec: (projectId, reference) => findSpecText(database.objects, projectId, reference),
      records: database.feedback,
      completions: database.completions,
      clock,
      settings: annotationSettings.with(),
    }),
    files,
    webhooks: createWebhookService({
      store: database.webhooks,
      clock,
      allowed: readEgressAllowlist(["127.0.0.0/8"]),
      settings: webhookSettings.with(),
    }),
    objects,
    traces: createProjectTraces({
      store: database.traces,
      objects,
      artifacts: dataFolderAt(dataFolder).artifacts,
      clock,
      settings: traceSettings.with(),
      onFault: (error) => assert(false, `a sweep fails: ${String(error)}`),
    }),
    isServing: true,
    isDraining: () => state.isDraining,
    metrics,
    logger: options.logger ?? silentLogger,
    recentLog: options.recentLog ?? new RecentLog(),
    audit: {
      record: (entry) => void audited.push(entry),
      recordDurably: async (entry) => void audited.push(entry),
      fault: () => null,
    },
    clock,
    settings: httpSettings.with(options.settings),
    auth: options.auth ?? "on",
    defaultEntity: "local",
    users: { ofHeaders: async () => null, ofToken: async () => null },
    operatorRoutes: "open",
    version: "0.0.0",
    ...options.services?.(database),
  };
  const used = options.wrap?.(dependencies) ?? dependencies;
  const { app, release } = await (options.isOwn === true ? ownApp(used) : takeApp(used));
  const ask = async (request: InjectOptions): Promise<LightMyRequestResponse> => {
    const answer = await app.inject(request);
    checkAnswer(documentOf(app), {
      method: request.method ?? "GET",
      url: typeof request.url === "string" ? request.url : "",
      status: answer.statusCode,
      contentType: String(answer.headers["content-type"] ?? ""),
      body: answer.body,
    });
    return answer;
  };
  const close = async (): Promise<void> => {
    await release();
    await keyUse.stop();
    await limiter.stop();
    await database.close();
    rmSync(dataFolder, { recursive: true });
  };
  const seen = { submittedJobs, droppedAdapters, audited };
  const keyStore = database.keys;
  return {
    app,
    ask,
    close,
    chat,
    files,
    dataFolder,
    keyStore,
    models,
    jobs,
    fineTuning: database.fineTuning,
    trajectories,
    completions: database.completions,
    usage: database.usage,
    feedback,
    state,
    ...seen,
  };
}

async function ownApp(dependencies: HttpDependencies) {
  const app = await createHttpServer(dependencies);
  return { app, release: () => app.close() };
}

/** API document. It is created only once, because creating it is slow and all servers have the same document. */
let apiDocument: ApiDocument | undefined;

function documentOf(app: FastifyInstance): ApiDocument {
  // Safe cast: another test checks the parts of the document that are read here.
  return (apiDocument ??= app.swagger() as unknown as ApiDocument);
}

function fileOf(name: string, text: string): ExportedFile {
  const bytes = Buffer.from(text);
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    yield bytes;
  };
  return { name, byteCount: bytes.length, pieces };
}

/** The queue is not started, so it never calls the runner. */
const noRunner: Omit<JobRunner, "trainer"> = {
  pinsFor: () => Promise.reject(new Error("no test runs jobs")),
  run: () => Promise.reject(new Error("no test runs jobs")),
  keep: () => Promise.reject(new Error("no test runs jobs")),
  discard: () => Promise.reject(new Error("no test runs jobs")),
  discardWork: async () => undefined,
  discardState: () => Promise.reject(new Error("no test runs jobs")),
};

async function addKeys(store: KeyStore): Promise<void> {
  const add = (id: keyof typeof keys, entity: string, role: KeyRole): Promise<void> =>
    store.create({
      ...freshKey,
      id,
      entity,
      role,
      owner: `${id}-owner`,
      secretHash: hashSecret(keys[id]),
      createdAt: new Date(0),
    });
  await add("admin", "local", "admin");
  await add("member", "acme", "member");
  await add("other", "rival", "member");
}

/** A minimal chat request. */
export const helloBody = { messages: [{ role: "user", content: "Hi" }] } as const;

/** Creates a model that belongs to the member's entity, and returns its id. */
export async function registeredModel(server: Awaited<ReturnType<typeof fakeServer>>): Promise<string> {
  const answer = await server.ask({
    method: "POST",
    url: "/v1/preview/models",
    headers: { authorization: bearer(keys.member) },
    payload: { project: "p", name: "m", base_model: "tiny", return_existing: true },
  });
  return answer.json<{ id: string }>().id;
}

/**
 * Acts as the runner of the oldest waiting job: writes the events, then ends the job with version `step` of its model.
 * If `step` is null, the job continues to run.
 */
export async function playJob(
  { jobs }: Pick<Awaited<ReturnType<typeof fakeServer>>, "jobs">,
  {
    step,
    events = [],
    metrics = { reward: step ?? 0 },
    counts = noCounts,
    versionId = `v${step}`,
  }: {
    readonly step: number | null;
    readonly events?: readonly Omit<JobEvent, "id">[];
    readonly metrics?: Metrics;
    readonly counts?: JobCounts;
    readonly versionId?: string;
  },
): Promise<void> {
  const job = await jobs.claim("server", new Date(0));
  assert(job !== null, "a job waits");
  for (const [sequence, event] of events.entries()) await jobs.appendEvent(job.id, "server", sequence, event);
  if (step === null) return;
  const at = new Date(1000);
  await jobs.succeed(job.id, {
    owner: "server",
    version: {
      id: versionId,
      modelId: job.modelId,
      step,
      adapterFolder: `adapters/${job.modelId}/${step}`,
      trainerState: `adapters/${job.modelId}/${step}/optimizer.safetensors`,
      jobId: job.id,
      metrics,
      isPinned: false,
      base: null,
      adapterHash: null,
      copiedKind: null,
      createdAt: at,
    },
    counts,
    at,
    data: {},
  });
}

const noCounts: JobCounts = {
  groupsSubmitted: 0,
  groupsTrainable: 0,
  trajectories: 0,
  sequences: 0,
  trainableTokens: 0,
  skipped: {},
  skippedGroups: {},
};
