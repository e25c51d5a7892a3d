// Clients of the simulated world. Each sends random requests, drawn from the seed, to any running server, and retries
// requests without an answer. Records all requests and answers.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { chatRequest } from "../../src/inference/chat/testing/chat-request.ts";
import type { Caller } from "../../src/base/domain/access.ts";
import { isTerminal, type JobFilter } from "../../src/base/domain/job.ts";
import { adapterOfServer } from "../../src/base/domain/model.ts";
import { allItems } from "../../src/base/domain/page.ts";
import { ServiceError } from "../../src/base/domain/service-error.ts";
import { resolveTrainingConfig } from "../../src/base/domain/training-config.ts";
import { newJob } from "../../src/train/jobs/new-job.ts";
import { adapterFiles, adapterSeal } from "../../src/inference/architectures/hashes/adapter-hash.ts";
import { sampleContent } from "../../src/store/database/contract/completion-store.ts";
import type { Operation, Outcome, SeenJob, ServedVersion } from "./history.ts";
import { baseModel, piecesOf, type SimulatedServer } from "./server.ts";
import { adapterConfig } from "./trainer.ts";
import type { SimulatedDatabase } from "./world/database.ts";
import type { Scheduler } from "./world/scheduler.ts";

export interface ClientPlace {
  readonly scheduler: Scheduler;
  readonly database: SimulatedDatabase;
  /** Returns the running servers. */
  readonly servers: () => readonly SimulatedServer[];
  readonly history: Operation[];
}

type Asked = Operation extends infer Each
  ? Each extends Operation
    ? Omit<Each, "calledMs" | "endedMs" | "outcome">
    : never
  : never;

export const caller: Caller = {
  keyId: "k",
  entity: "team",
  role: "admin",
  owner: "Ada",
  scopes: null,
  project: null,
};
const project = "games";
/** Time that a client waits for an answer, in milliseconds. */
const patienceMs = 40_000;
const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
const { sampling } = sampleContent();

/** Names of objects that all clients know, so that a client can also request objects of other clients. */
export interface Known {
  readonly models: string[];
  readonly jobs: string[];
  readonly files: string[];
  readonly feedback: string[];
}

/** A client that sends a given number of requests. */
export class Client {
  readonly #place: ClientPlace;
  readonly #known: Known;
  readonly #name: string;
  #count = 0;

  constructor(place: ClientPlace, known: Known, name: string) {
    this.#place = place;
    this.#known = known;
    this.#name = name;
  }

  async run(count: number, pauseMs: number): Promise<void> {
    for (let asked = 0; asked < count; asked++) {
      await this.#pause(pauseMs);
      await this.#askSomething();
    }
  }

  async makeModel(): Promise<void> {
    const modelName = `model ${this.#newName()}`.replaceAll(" ", "-");
    await this.#again(async (server) => {
      const outcome = await this.#ask(server, { what: "make model", modelName }, async () => {
        const registration = { entity: caller.entity, project, name: modelName, baseModel, from: null };
        const wish = { adapter: adapterOfServer, returnExisting: true };
        return (await server.models.register({ ...registration, ...wish }, caller)).id;
      });
      if (outcome.kind === "done") this.#known.models.push(outcome.result);
      return outcome;
    });
  }

  async #askSomething(): Promise<void> {
    const { random } = this.#place.scheduler;
    const { models, jobs, files, feedback } = this.#known;
    const draw = random.uniform();
    const one = (names: readonly string[]): string => names[random.index(names.length)];
    if (draw < 0.22 && models.length > 0) return this.#submit(one(models));
    if (draw < 0.27 && jobs.length > 0) return this.#cancel(one(jobs));
    if (draw < 0.37 && jobs.length > 0) return this.#readJob(one(jobs));
    if (draw < 0.42 && jobs.length > 0) return this.#watchJob(one(jobs));
    if (draw < 0.45) return this.#listJobs();
    if (draw < 0.57 && models.length > 0) return this.#serve(one(models));
    if (draw < 0.6 && models.length > 0) return this.#deleteVersion(one(models));
    if (draw < 0.62 && models.length > 1) return this.#deleteModel(one(models));
    if (draw < 0.65 && models.length > 0) return this.#import(one(models));
    if (draw < 0.68 && models.length > 0) return this.#fork(one(models));
    if (draw < 0.72) return this.#upload();
    if (draw < 0.75 && files.length > 0) return this.#readFile(one(files));
    if (draw < 0.77 && files.length > 0) return this.#deleteFile(one(files));
    if (draw < 0.85 && models.length > 0) return this.#record(one(models));
    if (draw < 0.92) return this.#giveFeedback();
    if (draw < 0.95) return this.#listFeedback();
    if (feedback.length > 0) return this.#readFeedback(one(feedback));
  }

  #import(modelId: string): Promise<void> {
    const matrices = `imported ${this.#newName()}`;
    return this.#once((server) =>
      this.#ask(server, { what: "import", modelId }, async () => {
        const files = { [adapterFiles.config]: adapterConfig, [adapterFiles.matrices]: matrices };
        return server.importVersion(await server.models.find(modelId, caller), files);
      }),
    );
  }

  /** Forks a model from another model's version. */
  #fork(modelId: string): Promise<void> {
    const modelName = `fork-${this.#newName()}`;
    const step = 1 + this.#place.scheduler.random.index(3);
    return this.#again(async (server) => {
      const outcome = await this.#ask(server, { what: "make model", modelName }, async () => {
        const registration = { entity: caller.entity, project, name: modelName, baseModel };
        const wish = { adapter: adapterOfServer, returnExisting: true, from: { model: modelId, step } };
        return (await server.models.register({ ...registration, ...wish }, caller)).id;
      });
      if (outcome.kind === "done") this.#known.models.push(outcome.result);
      return outcome;
    });
  }

  #submit(modelId: string): Promise<void> {
    const key = this.#newName();
    return this.#again(async (server) => {
      const outcome = await this.#ask(server, { what: "submit", modelId, key }, async () => {
        const task = { kind: "rl", config: resolveTrainingConfig({}) } as const;
        const identity = { id: `job-${key}-${this.#count++}`, modelId, task, configNotApplied: [] };
        const job = newJob({ ...identity, createdAt: server.process.clock.now() });
        const idempotency = { keyId: "k", key, bodyHash: key };
        return (await server.jobQueue.submit(job, [`"${key}"\n`], idempotency)).id;
      });
      if (outcome.kind === "done") this.#known.jobs.push(outcome.result);
      return outcome;
    });
  }

  #cancel(jobId: string): Promise<void> {
    return this.#once((server) =>
      this.#ask(server, { what: "cancel", jobId }, async () => (await server.jobQueue.cancel(jobId)).state),
    );
  }

  #readJob(jobId: string): Promise<void> {
    return this.#once((server) =>
      this.#ask(server, { what: "read job", jobId }, () => seenJob(server, jobId)),
    );
  }

  #watchJob(jobId: string): Promise<void> {
    return this.#once((server) =>
      this.#ask(server, { what: "watch job", jobId }, async () => {
        const { signal } = new AbortController();
        const types: string[] = [];
        for await (const { type } of server.jobQueue.watchEvents(jobId, { after: null, signal }))
          types.push(type);
        return types;
      }),
    );
  }

  #listJobs(): Promise<void> {
    const filter: JobFilter = { entity: null, modelId: null, kind: null, state: null };
    return this.#once((server) =>
      this.#ask(server, { what: "list jobs" }, async () => {
        const ids: string[] = [];
        for await (const { id } of allItems((page) => server.stores.jobs.list(filter, { ...page, limit: 3 })))
          ids.push(id);
        return ids;
      }),
    );
  }

  #serve(modelId: string): Promise<void> {
    return this.#once((server) =>
      this.#ask(server, { what: "serve", modelId }, () => this.#served(server, modelId)),
    );
  }

  /** Returns the newest version as a chat would load it; null for the base model or a missing model. */
  async #served(server: SimulatedServer, modelId: string): Promise<ServedVersion | null> {
    const version = await server.stores.models.newestVersion(modelId);
    if (version === null || version.adapterFolder === null) return null;
    const { step, adapterFolder, adapterHash } = version;
    if (!(await server.uses.use({ modelId, step }))) return null;
    let matrices: string | null = null;
    try {
      const folder = await server.artifacts.path(adapterFolder, adapterSeal(adapterHash));
      matrices = await readFile(join(folder, adapterFiles.matrices), "utf8");
    } catch (error) {
      // A failed read says nothing about the files, so it is not recorded as an answer.
      if (!(error instanceof ServiceError) && codeOf(error) !== "ENOENT") throw error;
    }
    const live = this.#place.database
      .rows("select model_id, step from model_versions where is_deleted = 0")
      .some((row) => row["model_id"] === modelId && row["step"] === step);
    return { step, matrices, isLive: live };
  }

  #deleteVersion(modelId: string): Promise<void> {
    const step = 1 + this.#place.scheduler.random.index(3);
    return this.#once((server) =>
      this.#ask(server, { what: "delete versions", modelId }, async () => {
        const model = await server.models.find(modelId, caller);
        return (await server.models.deleteVersions(model, [step])).deleted;
      }),
    );
  }

  #deleteModel(modelId: string): Promise<void> {
    // From now on no client requests the model.
    this.#known.models.splice(this.#known.models.indexOf(modelId), 1);
    return this.#again((server) =>
      this.#ask(server, { what: "delete model", modelId }, async () =>
        server.models.delete(await server.models.find(modelId, caller)),
      ),
    );
  }

  #upload(): Promise<void> {
    const content = `content of ${this.#newName()}`;
    return this.#once(async (server) => {
      const outcome = await this.#ask(server, { what: "upload", content }, async () => {
        const received = await server.files.receive(piecesOf(content));
        // Simulates the duration of an upload.
        await server.process.clock.sleep(this.#place.scheduler.shortTime(3000));
        const about = { entity: caller.entity, name: "f", purpose: "fine-tune" };
        return (await server.files.keep(received, about)).id;
      });
      if (outcome.kind === "done") this.#known.files.push(outcome.result);
      return outcome;
    });
  }

  #readFile(fileId: string): Promise<void> {
    return this.#once((server) =>
      this.#ask(server, { what: "read file", fileId }, async () => {
        try {
          const bytes = await server.files.use(await server.files.find(fileId, caller));
          return new TextDecoder().decode(bytes);
        } catch (error) {
          if (error instanceof ServiceError && error.code === "not_found") return null;
          throw error;
        }
      }),
    );
  }

  #deleteFile(fileId: string): Promise<void> {
    return this.#once((server) =>
      this.#ask(server, { what: "delete file", fileId }, async () => {
        await server.files.delete(await server.files.find(fileId, caller));
        return null;
      }),
    );
  }

  #record(modelId: string): Promise<void> {
    const requestId = this.#newName().replaceAll(" ", "-");
    return this.#once((server) =>
      this.#ask(server, { what: "record answer", modelId, requestId }, () => {
        const recording = server.recorder.begin({
          request: chatRequest({ identity: { requestId } }),
          caller,
          version: {
            projectId: `${caller.entity}/${project}`,
            modelId,
            step: 0,
            model: "m",
            fingerprint: "f",
          },
          promptTokenIds: [1],
          choiceCount: 1,
          sampling,
          startedAt: server.process.clock.now(),
        });
        return recording.end(usage);
      }),
    );
  }

  #giveFeedback(): Promise<void> {
    const recordId = this.#newName();
    const note = `note of ${recordId}`;
    return this.#again(async (server) => {
      const outcome = await this.#ask(server, { what: "give feedback", recordId, note }, async () => {
        const input = { ...plainFeedback, id: recordId, payload: { note } };
        await server.feedback.create(input, caller);
        return null;
      });
      if (outcome.kind === "done") this.#known.feedback.push(recordId);
      return outcome;
    });
  }

  #readFeedback(recordId: string): Promise<void> {
    return this.#once((server) =>
      this.#ask(server, { what: "read feedback", recordId }, async () => {
        const record = await server.stores.feedback.find(plainFeedback.projectId, recordId);
        return record === null ? null : String((record.payload as { readonly note?: unknown }).note);
      }),
    );
  }

  #listFeedback(): Promise<void> {
    return this.#once((server) =>
      this.#ask(server, { what: "list feedback" }, async () => {
        const { signal } = new AbortController();
        const ids: string[] = [];
        const condition = { kind: "constant", type: "boolean", value: true } as const;
        const selection = { projectId: plainFeedback.projectId, condition, after: null };
        for await (const records of server.feedback.pages(selection, caller, { signal }))
          ids.push(...records.map(({ id }) => id));
        return ids;
      }),
    );
  }

  /** Sends the request once, without retries. */
  async #once(ask: (server: SimulatedServer) => Promise<Outcome<unknown>>): Promise<void> {
    await ask(await this.#server());
  }

  /** Sends the request up to six times until it gets an answer, like a client with an idempotency key. */
  async #again(ask: (server: SimulatedServer) => Promise<Outcome<unknown>>): Promise<void> {
    for (let tried = 0; tried < 6; tried++) {
      if ((await ask(await this.#server())).kind !== "unknown") return;
      await this.#pause(3000);
    }
  }

  async #server(): Promise<SimulatedServer> {
    for (;;) {
      const servers = this.#place.servers();
      if (servers.length > 0) return servers[this.#place.scheduler.random.index(servers.length)];
      await this.#pause(500);
    }
  }

  async #ask<Result>(
    server: SimulatedServer,
    asked: Asked,
    call: () => Promise<Result>,
  ): Promise<Outcome<Result>> {
    const { scheduler, history } = this.#place;
    const calledMs = scheduler.nowMs;
    const unknown: Outcome<Result> = { kind: "unknown" };
    const outcome = await new Promise<Outcome<Result>>((resolve) => {
      server.process.onDeath(() => resolve(unknown));
      scheduler.after(patienceMs, "a client gives up", null, () => resolve(unknown));
      call().then(
        (result) => resolve({ kind: "done", result }),
        (error: unknown) => resolve(outcomeOf(error)),
      );
    });
    scheduler.note(`${asked.what} ${outcome.kind}`);
    // Safe cast: the request and its outcome are of the same kind.
    history.push({ ...asked, outcome, calledMs, endedMs: scheduler.nowMs } as Operation);
    return outcome;
  }

  #pause(durationMs: number): Promise<void> {
    const { scheduler } = this.#place;
    return scheduler.pass(durationMs * 2 * scheduler.random.uniform(), "a client pauses", null);
  }

  #newName(): string {
    return `${this.#name}-${this.#count++}`;
  }
}

const plainFeedback = {
  projectId: `${caller.entity}/${project}`,
  feedbackType: "note",
  vendorRef: `hone:///${caller.entity}/${project}/call/c`,
  creator: null,
  annotationRef: null,
  runnableRef: null,
  callRef: null,
  triggerRef: null,
  queueId: null,
};

async function seenJob(server: SimulatedServer, jobId: string): Promise<SeenJob | null> {
  const { jobs } = server.stores;
  const job = await jobs.find(jobId);
  if (job === null) return null;
  const events: string[] = [];
  // Reads the events only of an ended job, which has all of them. For another job, the state and the events could be
  // from different moments.
  if (isTerminal(job.state))
    for await (const { type } of allItems((page) => jobs.listEvents(jobId, page))) events.push(type);
  return { state: job.state, resultStep: job.resultStep, events };
}

/** Error codes with which a server reports that the operation was not done and never will be. */
const refusals = new Set([
  "invalid",
  "conflict",
  "not_found",
  "forbidden",
  "too_large",
  "overloaded",
  "unsupported",
]);

function outcomeOf(error: unknown): Outcome<never> {
  if (error instanceof ServiceError && refusals.has(error.code)) return { kind: "refused", code: error.code };
  return { kind: "unknown" };
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
