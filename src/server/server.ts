// The composition root: everything is built here, in reading order, and started and stopped here.
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { systemClock } from "../domain/clock.ts";
import type { Service } from "../domain/lifecycle.ts";
import { ServiceError } from "../domain/service-error.ts";
import { createLogger } from "../telemetry/logger.ts";
import { computeEnvironment } from "../runtime/environment.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import { openDatabase, type Database } from "../storage/database.ts";
import { createModelDirectory } from "../chat/model-directory.ts";
import { createChatService } from "../chat/complete-chat.ts";
import { createFeedbackService } from "../feedback/feedback-service.ts";
import { createHttpServer } from "../http/server.ts";
import { JobQueue } from "../jobs/job-queue.ts";
import { createChildJobRunner } from "../training/child-runner.ts";
import { listBaseModels, packageVersion } from "./base-models.ts";
import { addToChildEnvironment, type HoneConfig } from "./config.ts";
import { exposeGauges } from "./gauges.ts";
import { databaseFile, ensureFirstKey } from "./keys.ts";
import { createServedBases, engineHealth, type EngineBase } from "./served-bases.ts";
import { forgetVersions } from "./forget-versions.ts";

export interface Server extends Service {
  /** Where it listens; known once it has started. */
  readonly url: string;
  /** The first key's secret, where it is known. */
  readonly adminKey: string | null;
  /** The first key's secret, when this start made it. */
  readonly newAdminKey: string | null;
}

/** What is built at start, in order; stopped in reverse. */
interface Parts {
  readonly url: string;
  readonly adminKey: string | null;
  readonly newAdminKey: string | null;
  readonly stop: () => Promise<void>;
}

/** A server of this configuration; nothing happens before `start`. */
export function createServer(config: HoneConfig): Server {
  let parts: Parts | null = null;
  let stopping: Promise<void> | null = null;
  return {
    get url() {
      return parts?.url ?? "";
    },
    get adminKey() {
      return parts?.adminKey ?? null;
    },
    get newAdminKey() {
      return parts?.newAdminKey ?? null;
    },
    start: async () => {
      parts = await build(config);
    },
    stop: () => (stopping ??= parts === null ? Promise.resolve() : parts.stop()),
  };
}

async function build(config: HoneConfig): Promise<Parts> {
  const started: (() => Promise<void>)[] = [];
  const stopAll = async (): Promise<void> => {
    for (const stop of started.splice(0).reverse()) await stop();
  };
  try {
    return await buildParts(config, started, stopAll);
  } catch (error) {
    await stopAll();
    throw error;
  }
}

async function buildParts(
  config: HoneConfig,
  started: (() => Promise<void>)[],
  stopAll: () => Promise<void>,
): Promise<Parts> {
  addToChildEnvironment(computeEnvironment);
  const dataFolder = config.server.data ?? ".hone";
  const clock = systemClock;
  const logger = createLogger(config.server.logLevel);
  const metrics = createMetrics({ processMetrics: true });
  const models = listBaseModels(config.server.model, config.server.defaultModel);
  const baseNames = models.map((model) => model.name);
  const defaultEntity = config.server.entity ?? "local";

  const database: Database = await openDatabase({ file: databaseFile(config) });
  started.push(() => database.close());
  const firstKey = await ensureFirstKey(database.keys, config, clock);

  const bases: readonly EngineBase[] = await createServedBases(models, {
    cacheFolder: join(dataFolder, "cache"),
    config,
    clock,
    logger,
  });
  for (const base of bases) started.push(() => base.engine.stop());

  const directory = createModelDirectory({
    store: database.models,
    bases: baseNames,
    defaultBase: models[0]?.name ?? "",
    dataFolder,
    build: `hone-${packageVersion()}`,
  });
  const chat = createChatService({ directory, bases, clock, metrics, logger });

  const runner = createChildJobRunner({
    dataFolder,
    baseFolders: new Map(models.map((model) => [model.name, model.folder])),
    trajectoryLines: (jobId) => database.jobs.trajectoryLines(jobId),
    settings: config.training,
    clock,
    logger,
  });
  started.push(() => runner.stop());
  const jobQueue = new JobQueue(
    { jobs: database.jobs, models: database.models, runner, clock, logger, owner: "server" },
    config.jobs,
  );

  let isDraining = false;
  const http = await createHttpServer({
    chat,
    engineHealth: () => engineHealth(bases),
    checkDatabase: async () => void (await database.keys.list()),
    baseModels: baseNames,
    keys: database.keys,
    models: database.models,
    jobs: database.jobs,
    jobQueue,
    trajectories: database.trajectories,
    feedback: createFeedbackService({ store: database.feedback, clock }),
    onVersionsDeleted: (modelId, steps) => forgetVersions({ modelId, steps, dataFolder, bases }),
    isDraining: () => isDraining,
    metrics,
    logger,
    clock,
    settings: config.http,
    auth: config.server.auth,
    defaultEntity,
    version: packageVersion(),
  });
  exposeGauges(metrics, { bases, jobQueue });

  started.push(() => http.close());
  await listen(http, { host: config.server.host ?? "127.0.0.1", port: config.server.port });
  await Promise.all(bases.map((base) => base.engine.start()));
  await jobQueue.start();
  // Stopping goes backwards: first no new work and running chats finish, then running jobs are parked for the next start.
  started.push(() => jobQueue.stop());
  started.push(async () => {
    isDraining = true;
    await drain({ isIdle: () => chat.runningCount === 0, seconds: config.server.drainSeconds });
  });
  return {
    url: addressOf(http.server.address(), config.server.host ?? "127.0.0.1"),
    adminKey: firstKey.secret,
    newAdminKey: firstKey.isNew ? firstKey.secret : null,
    stop: stopAll,
  };
}

/** @throws ServiceError `conflict` or `invalid` when the address cannot be had */
async function listen(
  http: Awaited<ReturnType<typeof createHttpServer>>,
  address: { readonly host: string; readonly port: number },
): Promise<void> {
  try {
    await http.listen(address);
  } catch (cause) {
    const isTaken = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
    const what = `Port ${address.port} of ${address.host}`;
    throw new ServiceError({
      code: isTaken ? "conflict" : "invalid",
      message: isTaken
        ? `${what} is in use; stop whoever has it, or choose another with --port.`
        : `${what} cannot be listened on: ${String(cause)}; choose another with --host and --port.`,
      cause,
    });
  }
}

/** Waits until nothing runs, or the time is up; what still runs then is broken off with an error of its own. */
async function drain(options: { readonly isIdle: () => boolean; readonly seconds: number }): Promise<void> {
  const end = systemClock.monotonicMs() + options.seconds * 1000;
  while (!options.isIdle() && systemClock.monotonicMs() < end) await systemClock.sleep(20);
}

function addressOf(address: AddressInfo | string | null, host: string): string {
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
