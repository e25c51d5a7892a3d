// For tests: the HTTP face over fakes, with a key of each kind and one call to ask anything of it.
import type { InjectOptions, LightMyRequestResponse } from "fastify";
import { hashSecret, type Caller, type KeyRole } from "../../domain/access.ts";
import { systemClock, type Clock } from "../../domain/clock.ts";
import type { FeedbackRecord } from "../../domain/feedback.ts";
import type { JobStore } from "../../domain/job.ts";
import { defaultsOf } from "../../domain/settings.ts";
import { silentLogger } from "../../telemetry/logger.ts";
import { createMetrics } from "../../telemetry/metrics.ts";
import type { FeedbackInput } from "../../feedback/check-content.ts";
import type { FeedbackService } from "../../feedback/feedback-service.ts";
import { createModelService } from "../../models/model-service.ts";
import type { ChatPort, EngineHealth, HttpDependencies } from "../dependencies.ts";
import { createHttpServer } from "../server.ts";
import { httpSettings, type HttpSettings } from "../settings.ts";
import { FakeChat } from "./fake-chat.ts";
import { FakeJobs, FakeKeyStore, FakeModelStore, FakeTrajectoryStore } from "./fake-stores.ts";

export const keys = { admin: "hone_admin", member: "hone_member", other: "hone_other" } as const;
export const bearer = (key: string = keys.admin): string => `Bearer ${key}`;
export const basic = (key: string = keys.admin): string =>
  `Basic ${Buffer.from(`api:${key}`).toString("base64")}`;

export interface FakeServerOptions {
  readonly settings?: Partial<HttpSettings>;
  readonly clock?: Clock;
  readonly auth?: "on" | "off";
  /** Answers instead of the fake one. */
  readonly chat?: ChatPort;
}

/** Keeps what it is given and answers it back. */
class FakeFeedback implements FeedbackService {
  readonly seen: { readonly input: FeedbackInput; readonly caller: Caller }[] = [];
  refusal: Error | null = null;

  async createBatch(items: readonly FeedbackInput[], caller: Caller): Promise<readonly FeedbackRecord[]> {
    return Promise.all(items.map((item) => this.create(item, caller)));
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

  async history(): Promise<readonly []> {
    return [];
  }
}

/** A server over fakes, and the fakes, to be given a script and asked what they saw. */
export async function fakeServer(options: FakeServerOptions = {}) {
  const chat = new FakeChat();
  const models = new FakeModelStore();
  const jobs = new FakeJobs();
  const trajectories = new FakeTrajectoryStore();
  const feedback = new FakeFeedback();
  const keyStore = new FakeKeyStore();
  await addKeys(keyStore);
  const engine: EngineHealth = { state: "ready", reason: "" };
  const state = { engine, isDraining: false, isDatabaseDown: false };
  const droppedAdapters: string[] = [];
  const baseModels = ["tiny", "small"];
  const clock = options.clock ?? systemClock;
  const dependencies: HttpDependencies = {
    chat: options.chat ?? chat,
    engineHealth: () => state.engine,
    checkDatabase: async () => {
      if (state.isDatabaseDown) throw new Error("database is down");
    },
    baseModels,
    keys: keyStore,
    models: createModelService({
      store: models,
      bases: baseModels,
      clock,
      cancelJobs: (modelId) => jobs.cancelAll(modelId),
      dropAdapter: (id) => void droppedAdapters.push(id),
      dataFolder: "test/fixtures/no-such-folder",
    }),
    versions: models,
    // The routes use the reading half alone.
    jobs: jobs as unknown as JobStore,
    jobQueue: jobs,
    trajectories,
    feedback,
    isDraining: () => state.isDraining,
    metrics: createMetrics({ processMetrics: false }),
    logger: silentLogger,
    clock,
    settings: { ...defaultsOf(httpSettings), ...options.settings },
    auth: options.auth ?? "on",
    defaultEntity: "local",
    version: "0.0.0",
  };
  const app = await createHttpServer(dependencies);
  const ask = (request: InjectOptions): Promise<LightMyRequestResponse> => app.inject(request);
  const close = (): Promise<void> => app.close();
  return { app, ask, close, chat, models, jobs, trajectories, feedback, state, droppedAdapters };
}

async function addKeys(store: FakeKeyStore): Promise<void> {
  const add = (id: keyof typeof keys, entity: string, role: KeyRole): Promise<void> =>
    store.create({
      id,
      entity,
      role,
      owner: `${id}-owner`,
      secretHash: hashSecret(keys[id]),
      createdAt: new Date(0),
      revokedAt: null,
    });
  await add("admin", "local", "admin");
  await add("member", "acme", "member");
  await add("other", "rival", "member");
}

/** A chat request with the least there is. */
export const helloBody = { messages: [{ role: "user", content: "Hi" }] } as const;

/** Creates a model of the member's, and returns its id. */
export async function registeredModel(server: Awaited<ReturnType<typeof fakeServer>>): Promise<string> {
  const answer = await server.ask({
    method: "POST",
    url: "/v1/preview/models",
    headers: { authorization: bearer(keys.member) },
    payload: { project: "p", name: "m", base_model: "tiny", return_existing: true },
  });
  return answer.json<{ id: string }>().id;
}
