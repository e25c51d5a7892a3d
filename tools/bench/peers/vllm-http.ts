// Compares how fast Hone and vLLM stream the same model over HTTP with the same number of threads. The servers answer
// the same chats in turn; while one is measured, the others are suspended.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../../../src/base/domain/clock.ts";
import { signalTree } from "../../../test/process-tree.ts";
import { ownFolder } from "../run-bench.ts";
import { serveBuild, type ServedBuild } from "../served-build.ts";
import { medianRatio, runLoad, type LoadResult } from "../streamed-chats.ts";
import { ensureFloatFolder } from "./float-folder.ts";
import { serveVllm } from "./vllm-server.ts";

const answerTokens = 128;
const streamCounts = [16, 32] as const;
/** Chats per stream in a round. */
const chatsEach = 2;

const help = `Usage: node dist/tools/bench/peers/vllm-http.js --python <interpreter> --model <file.gguf> [flags]
Streams chats over HTTP, 16 and 32 concurrently, from this build's server in float32 and in 8 bits and from vLLM's server in
float32 and bfloat16, compiled. Prompts have about 130 tokens and no common prefix; answers have ${answerTokens} tokens, sampled at
temperature 1. All servers run, but only one gets requests at a time while the others are suspended. Prints the tokens per
second of the best round, and the median of the per-round ratios to vLLM in float32.
tools/bench/peers/vllm/install.sh <folder> installs vLLM; the interpreter is bin/python in that folder.

  --eager            run vLLM without compilation, which takes minutes at its first start
  --float32          only the servers in float32
  --keep <folder>    keep the converted model and vLLM's compiled code in this folder for the next run
  --streams <count>  only this number of concurrent streams
  --rounds <count>   number of rounds (default 5)
  --threads <count>  number of compute threads on each side (default 2)
  --json             print JSON
  --help             print this help`;

/** Figures of one server under one load. */
interface Row {
  readonly server: string;
  readonly streams: number;
  /** Rate in the best round. */
  readonly tokensPerSecond: number;
  /** Median over the rounds of this server's rate divided by that of vLLM in float32. */
  readonly ratio: number;
}

const warmingStreams = 4;
const yardstick = "vLLM float32";

/** Time that a server gets to finish its idle work, or to recover from suspension. */
const restMs = 1000;

/** Functions that start the servers, by the server's name. */
type Starts = Readonly<Record<string, () => Promise<ServedBuild>>>;

const { values } = parseArgs({
  options: {
    python: { type: "string" },
    model: { type: "string" },
    eager: { type: "boolean", default: false },
    float32: { type: "boolean", default: false },
    keep: { type: "string" },
    streams: { type: "string" },
    rounds: { type: "string", default: "5" },
    threads: { type: "string", default: "2" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(`${help}\n`);
else if (values.python === undefined || values.model === undefined) {
  process.stderr.write("--python and --model are needed; --help says what they and the others are.\n");
  process.exitCode = 2;
} else {
  const { python, model, keep } = values;
  const folder = keep ?? mkdtempSync(join(tmpdir(), "vllm-"));
  try {
    const rows = await measure(startsOf({ python, model, folder }));
    process.stdout.write(
      values.json ? `${JSON.stringify(rows, null, 2)}\n` : `${rows.map(textOf).join("\n")}\n`,
    );
  } finally {
    if (keep === undefined) rmSync(folder, { recursive: true });
  }
}

function startsOf({
  python,
  model,
  folder,
}: {
  readonly python: string;
  readonly model: string;
  readonly folder: string;
}): Starts {
  const threads = Number(values.threads);
  const here = (quantization: string) => (): Promise<ServedBuild> =>
    serveBuild(ownFolder, { modelFolder: model, threads, flags: ["--quantize", quantization] });
  const there = (type: string) => (): Promise<ServedBuild> =>
    serveVllm({
      python,
      modelFolder: ensureFloatFolder(model, join(folder, "cache")),
      type,
      cacheFolder: join(folder, "vllm"),
      threads,
      streamsMax: Math.max(...streamCounts),
      isEager: values.eager,
    });
  const float32 = { "Hone float32": here("off"), [yardstick]: there("float32") };
  return values.float32
    ? float32
    : { ...float32, "Hone 8 bits": here("8"), "vLLM bfloat16": there("bfloat16") };
}

async function measure(starts: Starts): Promise<readonly Row[]> {
  const servers = new Map<string, ServedBuild>();
  try {
    for (const [name, start] of Object.entries(starts)) {
      const server = await start();
      servers.set(name, server);
      // Warms up, because the first chats wait while the server compiles and loads.
      await ask(server, warmingStreams, `warming ${name}`);
      signalTree(server.processId, "SIGSTOP");
    }
    const rows: Row[] = [];
    for (const streams of loads()) rows.push(...(await measureLoad(servers, streams)));
    return rows;
  } finally {
    for (const server of servers.values()) {
      signalTree(server.processId, "SIGCONT");
      await server.stop();
    }
  }
}

function loads(): readonly number[] {
  return values.streams === undefined ? streamCounts : [Number(values.streams)];
}

async function measureLoad(
  servers: ReadonlyMap<string, ServedBuild>,
  streams: number,
): Promise<readonly Row[]> {
  const results = new Map([...servers.keys()].map((name) => [name, [] as LoadResult[]]));
  for (let round = 0; round < Number(values.rounds); round++) {
    // The order alternates, so that drift in the machine's speed favours no server.
    const order = round % 2 === 0 ? [...servers] : [...servers].toReversed();
    for (const [name, server] of order) {
      signalTree(server.processId, "SIGCONT");
      results.get(name)?.push(await ask(server, streams, `${streams} streams, round ${round}`));
      signalTree(server.processId, "SIGSTOP");
    }
  }
  const yardsticks = results.get(yardstick) ?? [];
  return [...results].map(([server, own]) => ({
    server,
    streams,
    tokensPerSecond: Math.max(...own.map(({ tokensPerSecond }) => tokensPerSecond)),
    ratio: medianRatio(own, yardsticks),
  }));
}

/** @param occasion text at the start of each prompt, unique to this load, so that no server has the prompts cached */
async function ask(server: ServedBuild, streams: number, occasion: string): Promise<LoadResult> {
  await systemClock.sleep(restMs);
  const exactly = { max_tokens: answerTokens, min_tokens: answerTokens, ignore_eos: true };
  return runLoad(
    server,
    { streams, chats: chatsEach * streams, questionOf: (index) => questionOf(occasion, index) },
    // Sends no seed, because seeds are expensive in vLLM.
    { ...exactly, seed: undefined },
  );
}

/** The prompt has about 130 tokens, including the template's. */
function questionOf(occasion: string, index: number): string {
  return `${index} (${occasion}): ${"Tell me what the cat said to the small bird when it came home. ".repeat(5)}`;
}

function textOf({ server, streams, tokensPerSecond, ratio }: Row): string {
  return `${server.padEnd(14)} ${streams} streams: ${tokensPerSecond.toFixed(0).padStart(5)} tokens/s, ${ratio.toFixed(2)} of ${yardstick}`;
}
