// Checks that one tenant cannot block another. Plays each attack of a hostile tenant (tools/bench/tenant-tricks.ts)
// against a server, while /health is probed and a polite tenant sends small requests one after the other. Prints how
// long the polite tenant waits with and without each attack.
import { setMaxListeners } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { loadavg } from "node:os";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import {
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "../../test/running-server.ts";
import { tricks, type Stage } from "./tenant-tricks.ts";
import { coreWaitMs } from "./core-wait.ts";

const records = 10_000;
const probeEveryMs = 20;

/** Input of the polite tenant's thread. */
interface Polite {
  readonly kind: "polite";
  readonly url: string;
  readonly key: string;
  readonly processId: number;
  readonly wantsChats: boolean;
}

interface Hostile {
  readonly kind: "hostile";
  readonly stage: Stage;
}

/** Latencies in milliseconds, measured by the polite tenant since its last report. */
interface Seen {
  readonly requests: readonly number[];
  readonly chats: readonly number[];
  /** Number of requests without status 200, by status or by the reason why there was no response. */
  readonly failures: Readonly<Record<string, number>>;
  readonly health: number;
  /** Latency of /health, without the time during which the server's main thread or the probe waited for a CPU core. */
  readonly healthOwn: number;
}

interface Figures {
  readonly requests: Quantiles;
  readonly chats: Quantiles;
  readonly failures: Seen["failures"];
  readonly healthMs: number;
  readonly healthOwnMs: number;
}

interface Quantiles {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
}

interface TrickFigures {
  readonly name: string;
  readonly alone: Figures;
  readonly beside: Figures;
  /**
   * The polite tenant's p99 latency with the attack, divided by the one without it. `ratio` is for requests that need
   * no model, `chatRatio` for chats.
   */
  readonly ratio: number;
  readonly chatRatio: number;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function ask(
  url: string,
  {
    authorization,
    body,
    agent,
  }: { readonly authorization?: string; readonly body?: object; readonly agent?: Agent | false },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? null : JSON.stringify(body);
    const headers = {
      ...(authorization === undefined ? {} : { authorization }),
      ...(text === null
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
    };
    const method = text === null ? "GET" : "POST";
    const asked = httpRequest(
      url,
      { method, headers, ...(agent === undefined ? {} : { agent }) },
      (answer) => {
        let received = "";
        answer.setEncoding("utf8");
        answer.on("data", (piece: string) => (received += piece));
        answer.once("error", reject);
        answer.once("end", () => resolve({ status: answer.statusCode ?? 0, text: received }));
      },
    );
    asked.once("error", reject);
    asked.end(text ?? undefined);
  });
}

async function bePolite({ url, key, processId, wantsChats }: Polite): Promise<void> {
  const requests: number[] = [];
  const chats: number[] = [];
  const failures: Record<string, number> = {};
  let health = 0;
  let healthOwn = 0;
  const agent = new Agent({ keepAlive: true });
  const bearer = `Bearer ${key}`;
  const basic = `Basic ${Buffer.from(`api:${key}`).toString("base64")}`;
  const record = {
    project_id: "polite/p",
    vendor_ref: "w:///polite/p/call/1",
    feedback_type: "t",
    payload: {},
  };
  const steps = [
    { path: "/v1/models", authorization: bearer },
    { path: "/feedback/create", authorization: basic, body: record },
    { path: "/feedback/query", authorization: basic, body: { project_id: "polite/p", limit: 10 } },
    { path: "/v1/preview/models", authorization: bearer },
  ];
  const chat = {
    path: "/v1/chat/completions",
    authorization: bearer,
    body: { messages: [{ role: "user", content: "hi" }], max_tokens: 4, ignore_eos: true },
  };
  const timed = async (
    into: number[],
    { path, ...sent }: { readonly path: string; readonly authorization: string; readonly body?: object },
  ): Promise<void> => {
    const start = performance.now();
    const outcome = await ask(url + path, { ...sent, agent }).then(
      ({ status }) => String(status),
      (error: unknown) => String(error),
    );
    into.push(performance.now() - start);
    if (outcome !== "200") failures[`${path} ${outcome}`] = (failures[`${path} ${outcome}`] ?? 0) + 1;
  };
  const send = async (): Promise<never> => {
    for (;;) {
      for (const step of steps) {
        await timed(requests, step);
        await sleep(5);
      }
      if (wantsChats) await timed(chats, chat);
    }
  };
  const probe = async (): Promise<never> => {
    for (;;) {
      const start = performance.now();
      const waited = coreWaitMs(processId);
      await ask(`${url}/health`, { agent: false }).catch((error: unknown) => {
        failures[`/health ${String(error)}`] = (failures[`/health ${String(error)}`] ?? 0) + 1;
      });
      const ms = performance.now() - start;
      health = Math.max(health, ms);
      healthOwn = Math.max(healthOwn, Math.max(0, ms - (coreWaitMs(processId) - waited)));
      await sleep(probeEveryMs);
    }
  };
  parentPort?.on("message", () => {
    const seen: Seen = {
      requests: requests.splice(0),
      chats: chats.splice(0),
      failures: { ...failures },
      health,
      healthOwn,
    };
    for (const name of Object.keys(failures)) delete failures[name];
    [health, healthOwn] = [0, 0];
    parentPort?.postMessage(seen, []);
  });
  await Promise.all([send(), probe()]);
}

/** Plays one attack at a time. Each message is the index of the attack to play next, or -1 to stop. */
function beHostile({ stage }: Hostile): void {
  let ending = new AbortController();
  parentPort?.on("message", (index: number) => {
    ending.abort();
    ending = new AbortController();
    const { signal } = ending;
    // Lifts Node's listener limit, since every request of the attack adds a listener to this signal.
    setMaxListeners(0, signal);
    tricks[index]?.play(stage, signal).catch((error: unknown) => {
      if (!signal.aborted) console.error(error);
    });
  });
}

function quantilesOf(values: readonly number[]): Quantiles {
  const sorted = [...values].sort((one, other) => one - other);
  const at = (part: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99) };
}

function figuresOf({ requests, chats, failures, health, healthOwn }: Seen): Figures {
  return {
    requests: quantilesOf(requests),
    chats: quantilesOf(chats),
    failures,
    healthMs: health,
    healthOwnMs: healthOwn,
  };
}

async function made(
  server: RunningServer,
  path: string,
  body: object,
  key = server.apiKey,
): Promise<{ id: string; key: string }> {
  const { status, text } = await ask(server.url + path, { authorization: `Bearer ${key}`, body });
  if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
  return JSON.parse(text) as { id: string; key: string };
}

/** Creates a hostile tenant with a model, a job and feedback records. */
async function stageFor(server: RunningServer): Promise<Stage> {
  const { key } = await made(server, "/v1/preview/keys", { entity: "hostile" });
  const model = { project: "p", name: "m", base_model: "hone-tiny" };
  const { id: modelId } = await made(server, "/v1/preview/models", model, key);
  const job = { model_id: modelId, trajectory_groups: [] };
  const { id: jobId } = await made(server, "/v1/preview/training-jobs", job, key);
  const project = "hostile/p";
  const record = { project_id: project, vendor_ref: `w:///${project}/call/1`, feedback_type: "t" };
  for (let start = 0; start < records; start += 1000) {
    const batch = Array.from({ length: 1000 }, (_, index) => ({
      ...record,
      payload: { score: (start + index) % 97, text: "word ".repeat(20) },
    }));
    const authorization = `Basic ${Buffer.from(`api:${key}`).toString("base64")}`;
    const { status, text } = await ask(`${server.url}/feedback/batch/create`, {
      authorization,
      body: { batch },
    });
    if (status !== 200) throw new Error(text);
  }
  return { url: server.url, key, modelId, jobId, project };
}

async function untilReady(server: RunningServer): Promise<void> {
  while ((await ask(`${server.url}/health`, {})).status !== 200) await sleep(50);
}

async function measure({
  only,
  seconds,
  wantsChats,
  onTrick,
}: {
  readonly only: string;
  readonly seconds: number;
  readonly wantsChats: boolean;
  readonly onTrick: (figures: TrickFigures) => void;
}): Promise<void> {
  const dataFolder = newDataFolder();
  const server = await startServer({ dataFolder });
  const threads: Worker[] = [];
  const start = (data: Polite | Hostile): Worker => {
    const worker = new Worker(new URL(import.meta.url), { workerData: data });
    worker.on("error", (error) => {
      throw error;
    });
    threads.push(worker);
    return worker;
  };
  try {
    await untilReady(server);
    const stage = await stageFor(server);
    const { key } = await made(server, "/v1/preview/keys", { entity: "polite" });
    const { url, process: child } = server;
    const polite = start({ kind: "polite", url, key, processId: child.pid ?? -1, wantsChats });
    const hostile = start({ kind: "hostile", stage });
    const take = async (): Promise<Figures> => {
      const seen = new Promise<Seen>((resolve) => polite.once("message", resolve));
      polite.postMessage("take", []);
      return figuresOf(await seen);
    };
    await sleep(3000);
    for (const [index, { name }] of tricks.entries()) {
      if (!name.includes(only)) continue;
      await take();
      await sleep(seconds * 1000);
      const alone = await take();
      hostile.postMessage(index, []);
      await sleep(seconds * 1000);
      const beside = await take();
      hostile.postMessage(-1, []);
      const ratio = beside.requests.p99 / alone.requests.p99;
      const chatRatio = wantsChats ? beside.chats.p99 / alone.chats.p99 : 0;
      onTrick({ name, alone, beside, ratio, chatRatio });
      // Gives the server time to answer or abort the attack's remaining requests.
      await sleep(3000);
    }
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
    await server.kill();
    removeDataFolder(dataFolder);
  }
}

function lineOf({ name, alone, beside, ratio, chatRatio }: TrickFigures): string {
  const shown = ({ count, p50, p99 }: Quantiles): string =>
    `${p50.toFixed(1)} / ${p99.toFixed(1)} (${count})`;
  const parts = [
    `requests: without attack ${shown(alone.requests)}, with ${shown(beside.requests)}, ratio ${ratio.toFixed(2)}`,
    ...(alone.chats.count === 0
      ? []
      : [
          `chats: without attack ${shown(alone.chats)}, with ${shown(beside.chats)}, ratio ${chatRatio.toFixed(2)}`,
        ]),
    `/health: at most ${beside.healthMs.toFixed(0)}, own ${beside.healthOwnMs.toFixed(0)} (without attack ${alone.healthMs.toFixed(0)}, own ${alone.healthOwnMs.toFixed(0)})`,
    ...Object.entries(beside.failures).map(([what, count]) => `${count} × ${what}`),
  ];
  return `${name}\n  ${parts.join("\n  ")}`;
}

const usage = `Usage: node dist/tools/bench/tenants.js [--only <part of a name>] [--seconds <count>] [--chats] [--json]

Plays each attack of a hostile tenant against a server, while a polite tenant sends small requests and /health is probed.
Prints in milliseconds the polite tenant's p50 / p99 latency (and the number of requests) without and with the attack, the ratio
of the two p99, and the maximum latency of /health. "Own" excludes the time in which the server's main thread or the probe
waited for a core.

  --only <text>      only attacks whose name contains this text
  --seconds <count>  duration of each attack, and of the measurement without it before (default 10)
  --chats            the polite tenant also requests chats of four tokens, whose time depends on the engine's steps
  --json             print JSON
  --help             print this help`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "" },
      seconds: { type: "string", default: "10" },
      chats: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return console.log(usage);
  const all: TrickFigures[] = [];
  await measure({
    only: values.only,
    seconds: Number(values.seconds),
    wantsChats: values.chats,
    onTrick: (figures) => {
      all.push(figures);
      if (!values.json) console.log(lineOf(figures));
    },
  });
  const load = loadavg().map((value) => value.toFixed(1));
  if (values.json) console.log(JSON.stringify({ load, tricks: all }, null, 2));
  else console.log(`load average at the end: ${load.join(", ")}`);
}

if (isMainThread) {
  if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
} else {
  // Safe cast: this file itself passed the data.
  const data = workerData as Polite | Hostile;
  if (data.kind === "polite") await bePolite(data);
  else beHostile(data);
}
