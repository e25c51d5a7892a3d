// Sends many mutated requests to a server, several concurrently, and collects the violations of the rules.
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "../running-server.ts";
import { model } from "../served-jobs.ts";
import { brokenOffFaults, faultsOf } from "./check-answer.ts";
import { fuzzRequest } from "./fuzz-request.ts";
import { busyGauges, gaugesUnderWay } from "../idle-gauges.ts";
import { residentBytes } from "../process-tree.ts";
import { formType, validForm } from "./odd-uploads.ts";
import { exchange } from "./raw-exchange.ts";
import { unexpectedLines } from "../unexpected-lines.ts";
import type { FuzzedWorld } from "./valid-request.ts";
import { feedbackIds } from "./valid-requests.ts";
import { endSession, newSession, newTuning } from "./tuned-world.ts";

export interface FuzzReport {
  readonly statuses: Readonly<Record<string, number>>;
  /** One line for each request whose answer broke a rule, with the index of the request. */
  readonly failures: readonly string[];
  /** Lines in the server's log that report anything worse than a refused request. */
  readonly logged: readonly string[];
  readonly seconds: number;
  /** Gauges of work in progress that were 0 after the last answer. */
  readonly idleGauges: readonly string[];
  /** Memory of the server process in MiB after a tenth, half and all of the requests. */
  readonly residentMebibytes: readonly number[];
}

export interface FuzzOptions {
  readonly seed: number;
  readonly count: number;
  /** Index of the only request to send. */
  readonly only?: number;
  /** Called with each failure, and regularly with the progress. */
  readonly log?: (line: string) => void;
}

/** Short limits: a short context for short answers, a short job queue, and a short time for receiving a request. */
const flags = [
  ...model,
  "--engine-context-length-max=96",
  "--training-batch-tokens=64",
  "--http-cors-origins=https://app.example",
];
const limits = { jobs: { queuedMax: 10 }, http: { requestSeconds: 5 } };

const deadlineMs = 60_000;
const atATime = 8;
/** Maximum number of bytes of a request that are printed. */
const shownLength = 10_000;
/** Number of requests after which deleted objects are created again. */
const renewEvery = 200;

export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { seed, count, only, log = () => undefined } = options;
  const dataFolder = newDataFolder();
  const server = await startServer({ dataFolder, flags, limits });
  try {
    const fuzzer = new Fuzzer(server, await newWorld(server), { seed, log });
    await (only === undefined ? fuzzer.sendAll(count) : fuzzer.show(only));
    await fuzzer.checkHealth();
    const idleGauges = await fuzzer.checkIdle();
    return { ...fuzzer.report(), idleGauges, logged: unexpectedLines(server.output()) };
  } finally {
    await server.kill();
    removeDataFolder(dataFolder);
  }
}

class Fuzzer {
  readonly #server: RunningServer;
  #world: FuzzedWorld;
  readonly #seed: number;
  readonly #log: (line: string) => void;
  readonly #statuses = new Map<string, number>();
  readonly #failures: string[] = [];
  readonly #residentMebibytes: number[] = [];
  readonly #beginMs = performance.now();

  constructor(
    server: RunningServer,
    world: FuzzedWorld,
    { seed, log }: { readonly seed: number; readonly log: (line: string) => void },
  ) {
    this.#server = server;
    this.#world = world;
    this.#seed = seed;
    this.#log = log;
  }

  async sendAll(count: number): Promise<void> {
    let next = 0;
    const measuredAt = [count / 10, count / 2, count].map(Math.floor);
    const sendOn = async (): Promise<void> => {
      while (next < count) {
        const index = next++;
        await this.send(index);
        if (measuredAt.includes(index + 1)) this.#residentMebibytes.push(residentMebibytes(this.#server));
        if ((index + 1) % renewEvery === 0) await this.#goOn(index + 1, count);
      }
    };
    await Promise.all(Array.from({ length: atATime }, sendOn));
  }

  async send(index: number): Promise<void> {
    const { what, reads, method, bytes, isCut, leavesAfterMs } = fuzzRequest(this.#seed, index, this.#world);
    const port = Number(new URL(this.#server.url).port);
    const answer = await exchange(bytes, { port, method, endsEarly: isCut, leavesAfterMs, deadlineMs });
    const status = typeof answer === "string" ? answer : String(answer.status);
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    if (answer === "left" || (isCut && (answer === "closed" || answer === "broken off"))) return;
    const faults =
      answer === "broken off"
        ? brokenOffFaults(await this.#statusNow(reads))
        : typeof answer === "string"
          ? [`it was ${answer}`]
          : faultsOf(answer, method);
    if (faults.length > 0) this.#fail(`${index}: ${what}: ${faults.join("; ")}`);
  }

  /** Sends one request, and prints the request with its result. */
  async show(index: number): Promise<void> {
    const { bytes } = fuzzRequest(this.#seed, index, this.#world);
    this.#log(bytes.toString("latin1").slice(0, shownLength));
    await this.send(index);
  }

  /** Checks that the server is healthy. Retries, because the server may still be busy. */
  async checkHealth(): Promise<void> {
    await eventually(
      "/health answers",
      async () => ((await call(this.#server, "GET", "/health")).status === 200 ? true : null),
      deadlineMs,
    ).catch((error: unknown) => this.#fail(String(error)));
  }

  /**
   * Checks that no work remains once every request is answered or its client has disconnected.
   *
   * @returns names of the gauges of work in progress, which are all 0
   */
  async checkIdle(): Promise<readonly string[]> {
    const busy = await busyGauges(this.#server);
    for (const line of busy) this.#fail(`when idle: ${line}`);
    return busy.length === 0 ? gaugesUnderWay : [];
  }

  report(): Omit<FuzzReport, "logged" | "idleGauges"> {
    return {
      statuses: Object.fromEntries([...this.#statuses].sort(([one], [other]) => one.localeCompare(other))),
      failures: this.#failures,
      seconds: Math.round((performance.now() - this.#beginMs) / 100) / 10,
      residentMebibytes: this.#residentMebibytes,
    };
  }

  /** Returns the current status of a GET request for the path; null without a path. */
  async #statusNow(path: string | null): Promise<number | null> {
    if (path === null) return null;
    const { url, apiKey } = this.#server;
    const answer = await fetch(url + path, { headers: { authorization: `Bearer ${apiKey}` } });
    await answer.body?.cancel();
    return answer.status;
  }

  async #goOn(sent: number, count: number): Promise<void> {
    await this.checkHealth();
    await endSession(this.#server, this.#world.sessionId);
    this.#world = await newWorld(this.#server);
    this.#log(`${sent} of ${count} sent, ${this.#failures.length} failures`);
  }

  #fail(line: string): void {
    this.#failures.push(line);
    this.#log(line);
  }
}

/** Creates or finds the objects that requests refer to. */
async function newWorld(server: RunningServer): Promise<FuzzedWorld> {
  for (const id of feedbackIds) {
    const record = {
      id,
      project_id: "local/p",
      vendor_ref: "w:///local/p/call/1",
      feedback_type: "t",
      payload: {},
    };
    await call(server, "POST", "/feedback/create", { body: record, scheme: "Basic" });
  }
  const spareModelId = await registered(server, "spare");
  const fileId = await uploaded(server);
  const queue = await queueWithItem(server);
  const ended = await modelWithEndedJob(server);
  const tuning = await newTuning(server, { modelId: ended.modelId, fileId });
  const sessionId = await newSession(server);
  return { apiKey: server.apiKey, spareModelId, fileId, ...queue, ...ended, ...tuning, sessionId };
}

async function queueWithItem(server: RunningServer): Promise<Pick<FuzzedWorld, "queueId" | "itemId">> {
  const send = async (path: string, body: object): Promise<any> =>
    (await call(server, "POST", path, { body: { project_id: "local/p", ...body }, scheme: "Basic" })).body;
  const { id: queueId } = await send("/annotation_queues", { name: "fuzzed" });
  await send(`/annotation_queues/${queueId}/items`, { call_ids: ["1"] });
  const { items } = await send(`/annotation_queues/${queueId}/items/query`, {});
  return { queueId, itemId: items[0].id };
}

async function uploaded({ url, apiKey }: RunningServer): Promise<string> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": formType };
  const answer = await fetch(`${url}/v1/files`, { method: "POST", headers, body: new Uint8Array(validForm) });
  return ((await answer.json()) as { readonly id: string }).id;
}

async function registered(server: RunningServer, name: string): Promise<string> {
  const body = { project: "p", name, base_model: "tiny", return_existing: true };
  return (await call(server, "POST", "/v1/preview/models", { body })).body.id;
}

async function modelWithEndedJob(server: RunningServer): Promise<Pick<FuzzedWorld, "modelId" | "jobId">> {
  const trajectories = [0, 1].map((reward) => ({
    messages_and_choices: [
      { role: "user", content: "which?" },
      { role: "assistant", content: `${reward}` },
    ],
    reward,
  }));
  return eventually("a job ends", async () => {
    // Retries, because the queue may be full at first, and requests still in progress may delete the model again.
    const modelId = await registered(server, "fuzzed");
    const body = { model_id: modelId, trajectory_groups: [{ trajectories }] };
    const headers = { "idempotency-key": `ended ${modelId}` };
    const { body: job } = await call(server, "POST", "/v1/preview/training-jobs", { body, headers });
    const { body: now } = await call(server, "GET", `/v1/preview/training-jobs/${job.id}`);
    return now.state === "succeeded" ? { modelId, jobId: job.id } : null;
  });
}

function residentMebibytes({ process }: RunningServer): number {
  return Math.round(residentBytes(process.pid ?? 0) / 2 ** 20);
}
