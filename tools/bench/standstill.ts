// Measures whether one request can delay the others. Sends each of the heaviest requests that a client may send, and
// meanwhile probes /health every 5 ms, and reads an ordinary stream and a constrained stream. Prints the longest gap of
// each with and without the heavy request, and the peak memory of the server's process.
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import {
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "../../test/running-server.ts";
import { endless, writeHostileModel } from "./hostile-model.ts";
import { importCases } from "./import-cases.ts";
import { readCases, storeForReads } from "./read-cases.ts";
import { list, object, type Case } from "./standstill-case.ts";
import { coreWaitMs } from "./core-wait.ts";

const probeEveryMs = 5;
const mebibyte = 1 << 20;

const chatPath = (): string => "/v1/chat/completions";
const logPath = (modelId: string): string => `/v1/preview/models/${modelId}/log`;
const messages = [{ role: "user", content: "hi" }] as const;
const hello = `"messages":${JSON.stringify(messages)}`;

function trajectoryGroup(bytes: number): string {
  const message = { role: "user", content: "x y ".repeat(bytes / 8) };
  const trajectory = (reward: number): object => ({ messages_and_choices: [message], reward });
  return JSON.stringify({ trajectories: [trajectory(0), trajectory(1)] });
}

const hostileChat = (content: string): Buffer =>
  Buffer.from(JSON.stringify({ model: "hostile", max_tokens: 1, messages: [{ role: "user", content }] }));

function biases(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, id) => [id, 1]));
}

/** Returns a case of 16 requests with expensive constraints. All constraints differ, so that none is cached. */
function constrained(name: string, structured: (index: number) => object | null): Case {
  const body = (_: string, index: number): Buffer =>
    Buffer.from(
      JSON.stringify({
        messages: [{ role: "user", content: "tell me" }],
        max_tokens: 64,
        seed: index,
        structured_outputs: structured(index),
      }),
    );
  return { name: `constraints: 16 ${name}`, path: chatPath, body, times: 16 };
}

const ambiguousGrammar = (index: number): string =>
  [
    "root ::= (a | b | c)+",
    `a ::= [a-z]+ [ ]? a? b? | "${index}"`,
    "b ::= [a-m]+ [ ]? c? a?",
    'c ::= [c-z]* "x" c? | [a-z]',
  ].join("\n");

function deepSchema(index: number, depth = 3): object {
  if (depth === 0) return { type: "string", minLength: index };
  const names = Array.from({ length: 11 }, (_, place) => `p${place}`);
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, deepSchema(index, depth - 1)])),
  };
}

const writes: readonly Case[] = [
  constrained("chats without a constraint, as a baseline", () => null),
  constrained("patterns that are slow to compile", (index) => ({
    regex: `(?=.*a.{14}$)(?=.*b.{15}$)(?=.*c.{16}$)[a-z ]{3,${200 + index}}`,
  })),
  constrained("patterns with slow masks", (index) => ({
    regex: `([ab]|[a-z]{2}|c.{3}){5,${60 + index}}x[^]{40}`,
  })),
  constrained("schemas that are slow to compile", (index) => ({ json: deepSchema(index) })),
  constrained("schemas with slow masks", (index) => {
    const pattern = `^(?:[ab]|[a-z]{2}|c.{3}|(?:d|.d)*){5,${60 + index}}x.{40}$`;
    return {
      json: { type: "array", minItems: 9, items: { anyOf: [{ type: "string", pattern }, { const: index }] } },
    };
  }),
  constrained("grammars that are slow to compile", (index) => ({
    grammar: `root ::= ${Array.from({ length: 700 }, (_, rule) => `r${rule}`).join(" | ")}\n${Array.from(
      { length: 700 },
      (_, rule) => `r${rule} ::= "${index * 7919 + rule}" [a-z]{1,9} r${(rule + 1) % 700}?`,
    ).join("\n")}`,
  })),
  constrained("grammars with slow masks", (index) => ({ grammar: ambiguousGrammar(index) })),
  {
    name: "chat: 500,000 empty messages",
    path: chatPath,
    body: () => object('{"messages":', list('{"role":"user","content":""}', 500_000)),
  },
  {
    name: "chat: 4,096 empty messages",
    path: chatPath,
    body: () => object('{"messages":', list('{"role":"user","content":""}', 4096)),
  },
  {
    name: "chat: 200,000 tools",
    path: chatPath,
    body: () => object(`{${hello},"tools":`, list('{"type":"function","function":{"name":"f"}}', 200_000)),
  },
  {
    name: "chat: a tool call with 15 MB of arguments",
    path: chatPath,
    body: () => {
      const call = {
        type: "function",
        function: { name: "f", arguments: `["${"x".repeat(15 * mebibyte)}"]` },
      };
      return Buffer.from(
        JSON.stringify({ messages: [{ role: "assistant", content: null, tool_calls: [call] }] }),
      );
    },
  },
  {
    name: "chat: 100,000 stop strings, n 32",
    path: chatPath,
    body: () => object(`{${hello},"n":32,"stop":`, list('"stop here"', 100_000)),
  },
  {
    name: "chat: 128 answers of 900 tokens with 20 log-probabilities each",
    path: chatPath,
    body: () =>
      Buffer.from(
        `{${hello},"n":128,"max_tokens":900,"ignore_eos":true,"temperature":1,"logprobs":true,"top_logprobs":20}`,
      ),
  },
  {
    name: "chat: 65,536 allowed ids, n 32",
    path: chatPath,
    body: () => object(`{${hello},"n":32,"max_tokens":64,"allowed_token_ids":`, list("100", 65_536)),
  },
  {
    name: "chat: 32,768 biases",
    path: chatPath,
    body: () => Buffer.from(JSON.stringify({ messages, logit_bias: biases(32_768) })),
  },
  {
    name: "chat: 16 bad words of 4,096 letters that almost occur, n 16",
    path: chatPath,
    body: () =>
      Buffer.from(
        JSON.stringify({
          messages,
          n: 16,
          max_tokens: 300,
          ignore_eos: true,
          logit_bias: { 100: 100 },
          bad_words: Array.from({ length: 16 }, (_, index) => `${"a".repeat(4094)}${String(index + 10)}`),
        }),
      ),
  },
  {
    name: "chat: one text of 15 MB",
    path: chatPath,
    body: () =>
      Buffer.from(JSON.stringify({ messages: [{ role: "user", content: "x y ".repeat(mebibyte * 3.75) }] })),
  },
  {
    name: "chat: a template that loops forever",
    path: chatPath,
    body: () => hostileChat(endless),
  },
  {
    name: "chat: a word of 80,000 emoji",
    path: chatPath,
    body: () => hostileChat("😀🎉".repeat(40_000)),
  },
  {
    name: "chat: 200 KB of words",
    path: chatPath,
    body: () => hostileChat("the quick brown fox ".repeat(10_000)),
  },
  {
    name: "chat: 16 MB of invalid fields",
    path: chatPath,
    body: () => object('{"messages":[],"stop_token_ids":', list('"x"', 4_000_000)),
  },
  {
    name: "log: 250 MiB of empty objects",
    path: logPath,
    body: () => object('{"trajectory_groups":', list("{}", 83 * mebibyte)),
  },
  {
    name: "log: ordinary trajectories, 240 MiB",
    path: logPath,
    body: () => object('{"trajectory_groups":', list(trajectoryGroup(mebibyte), 240)),
  },
  {
    name: "log: one group of 240 MiB",
    path: logPath,
    body: () => object('{"trajectory_groups":', list(trajectoryGroup(240 * mebibyte), 1)),
  },
  {
    name: "trajectories: the last log",
    path: (modelId) => `/v1/preview/models/${modelId}/trajectories?limit=1&order=desc`,
    body: null,
  },
  {
    name: "job: 100 MiB",
    path: () => "/v1/preview/training-jobs",
    body: (modelId) =>
      object(`{"model_id":"${modelId}","trajectory_groups":`, list(trajectoryGroup(mebibyte), 100)),
  },
  {
    name: "feedback: 10,000 records, 30 MiB",
    path: () => "/feedback/batch/create",
    scheme: "Basic",
    body: () =>
      object(
        '{"batch":',
        list(
          JSON.stringify({
            project_id: "local/p",
            vendor_ref: "w:///local/p/call/1",
            feedback_type: "t",
            payload: { text: "x ".repeat(1450) },
          }),
          10_000,
        ),
      ),
  },
];

interface Gap {
  readonly ms: number;
  /** Gap without the time during which the server's event loop or the probe waited for a CPU core. */
  readonly ownMs: number;
}

interface Gaps {
  readonly health: Gap;
  readonly stream: Gap;
  /** Longest gap in a stream with a cheap constraint. */
  readonly held: Gap;
}

interface Subject {
  readonly url: string;
  readonly apiKey: string;
  readonly processId: number;
}

/** Runs the probes in a separate thread, so that sending the heavy requests does not delay them. */
class Prober {
  readonly #worker: Worker;

  constructor({ url, apiKey, process: { pid } }: RunningServer) {
    const subject: Subject = { url, apiKey, processId: pid ?? -1 };
    this.#worker = new Worker(new URL(import.meta.url), { workerData: subject });
    this.#worker.on("error", (error) => {
      throw error;
    });
  }

  /** Returns the longest gaps since the last call. */
  async takeGaps(): Promise<Gaps> {
    const gaps = new Promise<Gaps>((resolve) => this.#worker.once("message", resolve));
    this.#worker.postMessage("take", []);
    return gaps;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}

async function probe({ url, apiKey, processId }: Subject): Promise<void> {
  const none: Gap = { ms: 0, ownMs: 0 };
  let longest: Gaps = { health: none, stream: none, held: none };
  parentPort?.on("message", () => {
    parentPort?.postMessage(longest, []);
    longest = { health: none, stream: none, held: none };
  });
  /** Starts measuring a gap; the returned function ends it. */
  const beginGap = (kind: keyof Gaps): (() => void) => {
    const start = performance.now();
    const waited = coreWaitMs(processId);
    return () => {
      const ms = performance.now() - start;
      const ownMs = Math.max(0, ms - (coreWaitMs(processId) - waited));
      const before = longest[kind];
      longest = {
        ...longest,
        [kind]: { ms: Math.max(before.ms, ms), ownMs: Math.max(before.ownMs, ownMs) },
      };
    };
  };
  const watchHealth = async (): Promise<never> => {
    for (;;) {
      const endGap = beginGap("health");
      await (await fetch(`${url}/health`)).text();
      endGap();
      await new Promise((resolve) => setTimeout(resolve, probeEveryMs));
    }
  };
  const watchStream = async (kind: "stream" | "held", more: object): Promise<never> => {
    const body = JSON.stringify({
      messages: [{ role: "user", content: "tell me a story" }],
      stream: true,
      ...more,
    });
    for (;;) {
      const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
      const answer = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body });
      let endGap = beginGap(kind);
      for await (const _ of answer.body ?? []) {
        endGap();
        endGap = beginGap(kind);
      }
    }
  };
  const list = { type: "array", minItems: 20, items: { type: "string", maxLength: 12 } };
  const held = { max_tokens: 100, structured_outputs: { json: list } };
  await Promise.all([watchHealth(), watchStream("stream", {}), watchStream("held", held)]);
}

/** Sends all requests of a case concurrently. */
async function sendAll(
  server: RunningServer,
  one: Case,
  modelId: string,
): Promise<{ readonly status: string; readonly ms: number }> {
  const indexes = Array.from({ length: one.times ?? 1 }, (_, index) => index);
  const sent = await Promise.all(indexes.map((index) => send(server, one, modelId, index)));
  const status = [...new Set(sent.map((result) => result.status))].join(", ");
  return { status, ms: Math.max(...sent.map(({ ms }) => ms)) };
}

async function send(
  server: RunningServer,
  { path, scheme, contentType = "application/json", body, isReadSlowly = false }: Case,
  modelId: string,
  index: number,
): Promise<{ readonly status: string; readonly ms: number }> {
  const key = Buffer.from(`api:${server.apiKey}`).toString("base64");
  const authorization = scheme === "Basic" ? `Basic ${key}` : `Bearer ${server.apiKey}`;
  const bytes = body === null ? null : new Uint8Array(body(modelId, index));
  const start = performance.now();
  const headers = { authorization, ...(bytes === null ? {} : { "content-type": contentType }) };
  try {
    const url = server.url + path(modelId);
    const answer = await fetch(url, { method: bytes === null ? "GET" : "POST", headers, body: bytes });
    await readAnswer(answer, isReadSlowly);
    return { status: String(answer.status), ms: performance.now() - start };
  } catch (error) {
    return {
      status: `${String(error)} (${error instanceof Error ? String(error.cause) : ""})`,
      ms: performance.now() - start,
    };
  }
}

/** Reads a response as fast as it arrives, or slowly and only in part. */
async function readAnswer(answer: Response, isReadSlowly: boolean): Promise<void> {
  const start = performance.now();
  let byteCount = 0;
  for await (const piece of answer.body ?? []) {
    byteCount += piece.length;
    if (!isReadSlowly) continue;
    if (performance.now() - start > 10_000) return;
    await seconds(byteCount / (4 * mebibyte) - (performance.now() - start) / 1000);
  }
}

/** Returns the process's peak memory since the last call in mebibytes; null if the system does not report it. */
function takePeakMemory({ process: { pid } }: RunningServer): number | null {
  try {
    const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
    return peak === null ? null : Math.round(Number(peak[1]) / 1024);
  } catch {
    return null;
  }
}

async function registerModel(server: RunningServer): Promise<string> {
  const headers = { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" };
  const body = JSON.stringify({ project: "p", name: "m", base_model: "hone-tiny" });
  const answer = await fetch(`${server.url}/v1/preview/models`, { method: "POST", headers, body });
  return ((await answer.json()) as { id: string }).id;
}

async function untilReady(server: RunningServer): Promise<void> {
  while (!(await fetch(`${server.url}/health`)).ok) await new Promise((resolve) => setTimeout(resolve, 50));
}

const seconds = (count: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1000 * count));

async function measure(only: string): Promise<void> {
  const dataFolder = newDataFolder();
  const hostile = join(dataFolder, "hostile");
  writeHostileModel(hostile);
  const server = await startServer({
    dataFolder,
    flags: ["--model", hostile, "--default-model", "hone-tiny"],
  });
  const prober = new Prober(server);
  try {
    await untilReady(server);
    const modelId = await registerModel(server);
    await seconds(2);
    await prober.takeGaps();
    let isStored = false;
    for (const one of [...writes, ...importCases, ...readCases].filter(({ name }) => name.includes(only))) {
      if (readCases.includes(one) && !isStored) {
        await storeForReads(server, modelId);
        isStored = true;
      }
      await seconds(3);
      const quiet = await prober.takeGaps();
      takePeakMemory(server);
      const { status, ms } = await sendAll(server, one, modelId);
      const busy = await prober.takeGaps();
      const memory = takePeakMemory(server);
      const show = (kind: keyof Gaps, label: string = kind): string => {
        const [during, before] = [busy[kind], quiet[kind]];
        return `${label} ${during.ms.toFixed(0)} ms, own ${during.ownMs.toFixed(0)} (without the request ${before.ms.toFixed(0)}, own ${before.ownMs.toFixed(0)})`;
      };
      console.log(
        `${one.name.padEnd(44)} ${status} in ${ms.toFixed(0)} ms; longest gap: ${show("health")}; ${show("stream")}; ${show("held", "constrained stream")}; memory ${memory ?? "?"} MiB`,
      );
    }
  } finally {
    await prober.stop();
    await server.kill();
    removeDataFolder(dataFolder);
  }
}

const USAGE = `Usage: node dist/tools/bench/standstill.js [--only <part of a name>]

Sends each of the heaviest requests that a client may send, while /health is probed, an ordinary stream runs, and another stream
is constrained by a small schema. Prints the longest gap of each with and without the request, and the peak memory of the
server's process. "Own" is the longest gap excluding the time in which the server's event loop or the probe waited for a core.`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { only: { type: "string", default: "" }, help: { type: "boolean", default: false } },
  });
  if (values.help) console.log(USAGE);
  else await measure(values.only);
}

if (!isMainThread) await probe(workerData as Subject);
else if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
