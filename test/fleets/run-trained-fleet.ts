// Runs two Hone servers on one PostgreSQL database with eight replicas and two trainers. Replicas and trainers fail
// and recover while clients use the base model and trained versions, and jobs create more versions. Looks for lost,
// duplicated and wrong answers.
import { setTimeout as sleep } from "node:timers/promises";
import { join, resolve } from "node:path";
import { present } from "../../src/base/domain/assert.ts";
import type { AdapterReference } from "../../src/base/domain/generation.ts";
import { seededRandom, type Random } from "../../src/base/domain/random.ts";
import type { LocalEngine } from "../../src/inference/engine/testing/local-engine.ts";
import { requestOf } from "../../src/inference/engine/testing/run-loop.ts";
import { hashPrefix } from "../../src/inference/vllm/replicas/choose-replica.ts";
import { FleetIllness } from "../../src/inference/vllm/testing/fleet-illness.ts";
import { FleetShares, type FleetFigures } from "../../src/inference/vllm/testing/fleet-shares.ts";
import { call, newDataFolder, removeDataFolder, type RunningServer, startServer } from "../running-server.ts";
import { createReplicas, modelFolder, smallEngine } from "./fleet-replicas.ts";
import { startMortalTrainers } from "./mortal-trainers.ts";

export interface TrainedFleetOptions {
  /** URL of an empty PostgreSQL database. */
  readonly databaseUrl: string;
  readonly requestCount: number;
  /** Number of concurrent requests. */
  readonly concurrency: number;
  readonly modelCount: number;
  /** Total number of jobs of all models. */
  readonly jobCount: number;
  /** Number of replica failures during the requests. */
  readonly illnessCount: number;
  /** Approximate number of requests that a trainer answers before it fails again. */
  readonly trainerSoundCount: number;
  readonly seed: number;
  readonly log?: (line: string) => void;
}

export interface TrainedFleetReport extends FleetFigures {
  readonly sentCount: number;
  readonly answeredCount: number;
  /** Refused requests, counted by status and error code. */
  readonly refusedCounts: Readonly<Record<string, number>>;
  readonly versionCount: number;
  readonly trainerIllnessCount: number;
  /** Number of requests that told replicas to load an adapter. */
  readonly loadCount: number;
  /** Descriptions of errors; empty if there are none. */
  readonly wrong: readonly string[];
  readonly lost: readonly string[];
  readonly unserved: readonly string[];
  readonly seconds: number;
}

const replicaCount = 8;
const apiKey = "hone_of_the_fleet_0123456789abcdef";
const tokenCount = 4;
/** Number of different prompts for each model. Requests use them at random. */
const promptCount = 200;
/** Maximum number of requests for a version until every replica has answered one. */
const searchMax = 500;

/** A version that a client knows. */
interface Version {
  readonly modelId: string;
  readonly name: string;
  readonly step: number;
}

/**
 * Runs the fleet until all requests and jobs have ended.
 *
 * @throws Error if an expected event does not happen in time
 */
export async function runTrainedFleet(options: TrainedFleetOptions): Promise<TrainedFleetReport> {
  const startMs = performance.now();
  const folder = newDataFolder();
  const fleet = new TrainedFleet(options, folder);
  try {
    await fleet.start();
    await fleet.run();
    return fleet.report((performance.now() - startMs) / 1000);
  } finally {
    await fleet.stop();
    removeDataFolder(folder);
  }
}

class TrainedFleet {
  readonly #options: TrainedFleetOptions;
  readonly #folder: string;
  readonly #random: Random;
  readonly #replicas: ReturnType<typeof createReplicas>;
  /** Engine that computes the expected answers with each version's adapter. */
  readonly #alone: LocalEngine;
  readonly #servers: RunningServer[] = [];
  readonly #log: (line: string) => void;
  #shares = new FleetShares([]);
  #trainers: Awaited<ReturnType<typeof startMortalTrainers>> | null = null;
  readonly #expected = new Map<string, Promise<string>>();
  readonly #versions: Version[] = [];
  /**
   * Indices of the replicas that have answered with an adapter. The key is the name under which replicas know the
   * adapter.
   */
  readonly #answeredBy = new Map<string, Set<number>>();
  readonly #refused = new Map<string, number>();
  readonly #wrong: string[] = [];
  readonly #lost: string[] = [];
  readonly #unserved: string[] = [];
  #sentCount = 0;
  #answeredCount = 0;
  #loadCount = 0;
  #requestCount = 0;

  constructor(options: TrainedFleetOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
    this.#log = options.log ?? (() => undefined);
    this.#random = seededRandom("trained fleet", options.seed);
    const cacheFolder = join(folder, "cache");
    this.#alone = smallEngine(cacheFolder);
    this.#replicas = createReplicas({
      count: replicaCount,
      cacheFolder,
      seed: options.seed,
      onCompletion: (replica, { request_id: requestId, model, prompt }) => {
        // Other requests only ask a replica which server it is; their ids are not JSON lists.
        const [, id] = requestId.startsWith("[") ? (JSON.parse(requestId) as readonly string[]) : [];
        if (id === undefined) return;
        const prefix = hashPrefix(requestOf(prompt, { adapter: adapterNamed(model), cacheOwner: entity }));
        this.#shares.asked(id, { server: replica, prefix });
        const answeredBy = this.#answeredBy.get(model) ?? new Set();
        this.#answeredBy.set(model, answeredBy.add(replica));
      },
      onLoad: () => (this.#loadCount += 1),
    });
  }

  async start(): Promise<void> {
    const { databaseUrl, trainerSoundCount } = this.#options;
    // Starts the replicas one after the other: the first one prepares the model's weights, and the others reuse its
    // files.
    const urls: string[] = [];
    for (const replica of this.#replicas) urls.push(await replica.start());
    await this.#alone.start();
    this.#shares = new FleetShares(urls);
    this.#trainers = await startMortalTrainers({
      modelFolder,
      folder: join(this.#folder, "trainers"),
      soundCount: trainerSoundCount,
      random: this.#random,
    });
    for (const [index, address] of this.#trainers.addresses.entries()) {
      const server = await startServer({
        dataFolder: join(this.#folder, `hone-${index}`),
        flags: flagsOf({ urls, databaseUrl, blobs: this.#blobs, trainer: address }),
        limits: {
          // The interval is short, so that a hanging replica is detected soon. The timeout for the first token is long,
          // because all processes share one machine.
          remote: { lookSeconds: 0.2, firstTokenSeconds: 10, adaptersMax: 1000 },
          jobs: { leaseMs: 20_000, backoffMs: 100, backoffMsMax: 1000, concurrency: 2 },
        },
      });
      this.#servers.push({ ...server, apiKey });
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.kill()));
    await this.#trainers?.stop();
    await Promise.all(this.#replicas.map((replica) => replica.stop()));
    await this.#alone.stop();
  }

  async run(): Promise<void> {
    const { modelCount, jobCount, requestCount, illnessCount, concurrency } = this.#options;
    const illness = new FleetIllness({
      stubs: this.#replicas,
      requestCount,
      illnessCount,
      random: this.#random,
      onDeath: (server) => this.#shares.died(server),
    });
    const chains = Array.from({ length: modelCount }, async (_, model) => {
      const jobs = Math.floor(jobCount / modelCount) + (model < jobCount % modelCount ? 1 : 0);
      await this.#train(`m${model}`, jobs);
    });
    const client = async (): Promise<void> => {
      while (this.#requestCount < requestCount) {
        illness.before(this.#requestCount);
        const id = `fleet-${this.#requestCount++}`;
        if (this.#requestCount % 1000 === 0) this.#log(`${this.#requestCount} requests`);
        this.#shares.began(id, illness.wellServers());
        const isAnswered = await this.#ask(id, this.#pick());
        if (isAnswered) this.#shares.answered(id);
        else this.#shares.refused(id);
      }
    };
    await Promise.all([...chains, ...Array.from({ length: concurrency }, client)]);
    illness.end();
    for (const version of this.#versions) await this.#requireServed(version);
  }

  report(seconds: number): TrainedFleetReport {
    return {
      sentCount: this.#sentCount,
      answeredCount: this.#answeredCount,
      refusedCounts: Object.fromEntries(this.#refused),
      versionCount: this.#versions.length,
      trainerIllnessCount: this.#trainers?.illnessCount() ?? 0,
      loadCount: this.#loadCount,
      wrong: this.#wrong,
      lost: this.#lost,
      unserved: this.#unserved,
      seconds,
      ...this.#shares.figures(),
    };
  }

  get #blobs(): string {
    return join(this.#folder, "blobs");
  }

  /** Returns a random server. */
  get #server(): RunningServer {
    return this.#servers[this.#random.index(this.#servers.length)];
  }

  /**
   * Returns the version for the next request, or null for the base model. Half of the requests use the base model, and
   * all of them while there is no version.
   */
  #pick(): Version | null {
    if (this.#versions.length === 0 || this.#random.uniform() < 0.5) return null;
    return this.#versions[this.#random.index(this.#versions.length)];
  }

  /** Runs a model's jobs one after the other. After each job, clients also request the version that it made. */
  async #train(name: string, jobCount: number): Promise<void> {
    const registered = await callOf(this.#server, "POST", "/v1/preview/models", {
      body: { project: "p", name, base_model: "big" },
    });
    const modelId = String(registered.body.id);
    for (let job = 0; job < jobCount; job++) {
      const sent = await callOf(this.#server, "POST", "/v1/preview/training-jobs", {
        body: {
          model_id: modelId,
          trajectory_groups: [await this.#rollOut(modelId, job)],
          experimental_config: { learning_rate: 0.01 },
        },
      });
      if (sent.status !== 200) {
        this.#lost.push(`job ${job} of ${name} was refused: ${JSON.stringify(sent.body)}`);
        return;
      }
      const ended = await this.#ended(String(sent.body.id));
      if (ended !== "succeeded") this.#lost.push(`job ${job} of ${name} ${ended}`);
      const { body } = await callOf(this.#server, "GET", `/v1/preview/models/${modelId}/checkpoints`);
      const steps = body.data
        .map(({ step }: { readonly step: number }) => step)
        .sort((a: number, b: number) => a - b);
      const known = this.#versions.filter((version) => version.modelId === modelId);
      const added = steps.filter(
        (step: number) => step > 0 && !known.some((version) => version.step === step),
      );
      if (added.length !== 1)
        this.#lost.push(
          `job ${job} of ${name} made ${added.length} versions, of the steps ${steps.join(", ")}`,
        );
      for (const step of added) this.#versions.push({ modelId, name, step });
      this.#log(`${this.#versions.length} versions`);
    }
  }

  /** Returns answers of the newest version with rewards. Repeats a request that fails because replicas are down. */
  async #rollOut(model: string, group: number): Promise<object> {
    const question = { role: "user", content: `question ${group}` };
    const body = { model, messages: [question], n: 4, max_tokens: 8, temperature: 1, seed: group };
    for (let tries = 0; ; tries++) {
      const { status, body: answer } = await callOf(this.#server, "POST", "/v1/chat/completions", { body });
      if (status === 200)
        return {
          trajectories: answer.choices.map((choice: unknown, index: number) => ({
            messages_and_choices: [question, choice],
            reward: index,
          })),
        };
      if (status < 429 || tries > 100) throw new Error(`${status} ${JSON.stringify(answer)}`);
      await sleep(200);
    }
  }

  async #ended(jobId: string): Promise<string> {
    const endMs = performance.now() + jobMs;
    for (;;) {
      const { body } = await callOf(this.#server, "GET", `/v1/preview/training-jobs/${jobId}`);
      if (["succeeded", "failed", "cancelled"].includes(body.state)) return body.state;
      if (performance.now() > endMs) return `is still ${body.state}`;
      await sleep(200);
    }
  }

  /**
   * Requests an answer of a version or the base model.
   *
   * @returns true if the request was answered
   */
  async #ask(id: string, version: Version | null, prompt = this.#prompt(version)): Promise<boolean> {
    this.#sentCount += 1;
    const { status, body } = await callOf(this.#server, "POST", "/v1/completions", {
      body: {
        model: version === null ? "big" : `p/${version.name}:step${version.step}`,
        prompt,
        max_tokens: tokenCount,
        temperature: 0,
        ignore_eos: true,
        return_token_ids: true,
        request_id: id,
      },
    });
    if (status !== 200) {
      const code = `${status} ${body?.error?.code ?? "without a reason"}`;
      this.#refused.set(code, (this.#refused.get(code) ?? 0) + 1);
      if (body?.error?.message === undefined)
        this.#wrong.push(`${id} was refused without a reason: ${status}`);
      return false;
    }
    this.#answeredCount += 1;
    const answer = String(body.choices[0].token_ids);
    const expected = await this.#expectedOf(version, prompt);
    if (answer !== expected)
      this.#wrong.push(`${id} of ${JSON.stringify(version)} was answered ${answer}, not ${expected}`);
    return true;
  }

  #prompt(version: Version | null): readonly number[] {
    const random = seededRandom("prompt", version?.name ?? "big", this.#random.index(promptCount));
    return Array.from({ length: 16 }, () => 100 + random.index(300));
  }

  /** Returns the expected answer, which a separate engine computes with the version's stored adapter. */
  #expectedOf(version: Version | null, prompt: readonly number[]): Promise<string> {
    const key = JSON.stringify([version, prompt]);
    const expected = this.#expected.get(key) ?? this.#answerAlone(version, { prompt, key });
    this.#expected.set(key, expected);
    return expected;
  }

  async #answerAlone(
    version: Version | null,
    { prompt, key }: { readonly prompt: readonly number[]; readonly key: string },
  ): Promise<string> {
    const adapter = version === null ? null : this.#adapterOf(version);
    const request = requestOf(prompt, { adapter, maxTokens: tokenCount });
    const ids: number[] = [];
    for await (const events of this.#alone.submit({ ...request, id: key }).events)
      for (const event of events) if (event.kind === "tokens") ids.push(...event.tokens.map(({ id }) => id));
    return ids.join();
  }

  #adapterOf({ modelId, step }: Version): AdapterReference {
    return { id: `${modelId}:${step}`, folder: join(this.#blobs, "adapters", modelId, String(step)) };
  }

  /**
   * Sends requests with different prompts until every replica has answered with the version. The prompt determines
   * which replica answers.
   */
  async #requireServed(version: Version): Promise<void> {
    const own = `${version.modelId}:${version.step}@`;
    const names = (): readonly string[] =>
      [...this.#answeredBy.keys()].filter((name) => name.startsWith(own));
    const servedBy = (): number => this.#answeredBy.get(names()[0] ?? "")?.size ?? 0;
    for (let count = 0; count < searchMax && servedBy() < replicaCount; count++) {
      const prompt = Array.from({ length: 16 }, () => 100 + this.#random.index(300));
      await this.#ask(`search-${version.name}-${version.step}-${count}`, version, prompt);
    }
    if (names().length !== 1 || servedBy() < replicaCount)
      this.#unserved.push(`${own} by ${servedBy()} replicas, under ${names().length} names`);
  }
}

function flagsOf({
  urls,
  databaseUrl,
  blobs,
  trainer,
}: {
  readonly urls: readonly string[];
  readonly databaseUrl: string;
  readonly blobs: string;
  readonly trainer: string;
}): readonly string[] {
  const values = {
    model: `big=vllm+${urls.join(",")}?files=${resolve(modelFolder)}`,
    "built-in-model": "off",
    "database-url": databaseUrl,
    blobs,
    "api-key": apiKey,
    entity,
    trainer,
    "engine-threads": "1",
  };
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);
}

/**
 * Calls the server. Retries if the server closed the idle connection just when the request was sent. It has then not
 * processed the request.
 */
async function callOf(...request: Parameters<typeof call>): ReturnType<typeof call> {
  try {
    return await call(...request);
  } catch (error) {
    const cause = error instanceof Error ? error.cause : null;
    if (cause instanceof Error && "code" in cause && cause.code === "ECONNRESET")
      return await call(...request);
    throw error;
  }
}

/** Entity that owns everything in this test. */
const entity = "fleet";

/** Time limit of a job in milliseconds. */
const jobMs = 600_000;

/** Returns the adapter that replicas know under this name; null for the base model. */
function adapterNamed(name: string): AdapterReference | null {
  const [id, hash] = name.split("@");
  return hash === undefined ? null : { id: present(id, "a name has an id"), folder: "", hash };
}
