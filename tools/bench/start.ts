// Measures the cost of starting a server: the modules that each process and thread loads, the wall and processor time
// until /health first reports success, and how much longer the first chat takes than later ones. Runs with the built-in
// model, optionally with a second model too. Measures the first start, which creates the data folder, separately from
// later starts.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { childrenOf } from "../../test/running-server.ts";
import { median } from "./median.ts";
import type { ServedBuild } from "./served-build.ts";
import { streamedChat } from "./streamed-chats.ts";
import { ownFolder, runComparingBench, type BenchOptions, type Report } from "./run-bench.ts";

const kinds = ["first start", "next start"] as const;
const askEveryMs = 2;

interface Start {
  readonly wallMs: number;
  /** Time from the start command to the complete answer of a chat, which is sent as soon as /health reports success. */
  readonly firstChatMs: number;
  /** Time to the first token of the first chat, divided by the median of the tenth to fourteenth chats. */
  readonly firstOverTenth: number;
  /** Like `firstOverTenth`, but for the processor time of the server and the engines during a whole chat. */
  readonly firstOverTenthCpu: number;
  /** Processor time up to the end of the first chat: of the server's process, and of all engines. */
  readonly serverCpuMs: number;
  readonly enginesCpuMs: number;
}

/** Labels of a start's figures in the output. */
const figures: Readonly<Record<keyof Start, string>> = {
  wallMs: "ms until ready",
  firstChatMs: "ms until the first chat is answered",
  firstOverTenth: "first chat's time to the first token relative to the tenth's",
  firstOverTenthCpu: "first chat's processor time relative to the tenth's",
  serverCpuMs: "ms of processor time, server",
  enginesCpuMs: "ms of processor time, engines",
};

interface BuildReport {
  /** Number of modules that each process or thread loads; `started` is its entry module. */
  readonly modules: readonly { readonly started: string; readonly count: number }[];
  readonly starts: Readonly<Record<(typeof kinds)[number], Start>>;
}

interface StartReport extends Report {
  readonly here: BuildReport;
  readonly there: BuildReport | null;
}

await runComparingBench<StartReport>({
  script: import.meta.url,
  help: "Usage: node dist/tools/bench/start.js [options]\nMeasures the cost of starting the server: time, processor time and loaded modules.",
  measure,
  textOf,
});

/** Measures both builds in alternating starts, and returns medians. */
async function measure(options: BenchOptions): Promise<readonly StartReport[]> {
  const { against, rounds } = options;
  const flags = flagsOf(options);
  const folders = against === null ? [ownFolder] : [ownFolder, against];
  const starts = folders.map((): Record<(typeof kinds)[number], Start[]> => ({
    "first start": [],
    "next start": [],
  }));
  for (let round = 0; round < rounds; round++) {
    for (const [index, folder] of folders.entries()) {
      const dataFolder = mkdtempSync(join(tmpdir(), "hone-bench-"));
      for (const kind of kinds) starts[index][kind].push(await startOnce(folder, dataFolder, { flags }));
      rmSync(dataFolder, { recursive: true });
    }
  }
  const reports: BuildReport[] = [];
  for (const [index, folder] of folders.entries()) {
    const [first, next] = kinds.map((kind) => typical(starts[index][kind]));
    reports.push({
      modules: await modulesOf(folder),
      starts: { "first start": first, "next start": next },
    });
  }
  return [{ name: "start", here: reports[0], there: reports[1] ?? null }];
}

function typical(starts: readonly Start[]): Start {
  const of = (figure: keyof Start): number => median(starts.map((start) => start[figure]));
  return {
    wallMs: of("wallMs"),
    firstChatMs: of("firstChatMs"),
    firstOverTenth: of("firstOverTenth"),
    firstOverTenthCpu: of("firstOverTenthCpu"),
    serverCpuMs: of("serverCpuMs"),
    enginesCpuMs: of("enginesCpuMs"),
  };
}

function flagsOf({ model, quantize }: BenchOptions): readonly string[] {
  const named = model === null ? [] : ["--model", resolve(model)];
  return quantize === null ? named : [...named, "--quantize", quantize];
}

async function startOnce(
  folder: string,
  dataFolder: string,
  {
    flags = [],
    environment = {},
  }: { readonly flags?: readonly string[]; readonly environment?: Readonly<Record<string, string>> },
): Promise<Start> {
  const port = await freePort();
  const quietly = ["--port", `${port}`, "--data", dataFolder, "--log-level", "error"];
  const startMs = performance.now();
  const child = spawn(
    process.execPath,
    ["--input-type=module", "-e", launch(folder), "serve", ...quietly, ...flags],
    { cwd: folder, stdio: "ignore", env: { ...process.env, ...environment } },
  );
  const ended = once(child, "close");
  while (!(await isReady(port))) {
    if (child.exitCode !== null) throw new Error(`The server of ${folder} does not start.`);
    await sleep(askEveryMs);
  }
  const wallMs = performance.now() - startMs;
  const cpu = cpuOf(child);
  const server = {
    url: `http://127.0.0.1:${port}`,
    apiKey: readFileSync(join(dataFolder, "admin-key"), "utf8").trim(),
  };
  const first = await chat(server, child, 0);
  const firstChatMs = performance.now() - startMs;
  const later: Chat[] = [];
  for (let index = 1; index < 14; index++) later.push(await chat(server, child, index));
  const firstOver = (figure: keyof Chat): number =>
    first[figure] / median(later.slice(8).map((each) => each[figure]));
  const start = {
    wallMs,
    firstChatMs,
    firstOverTenth: firstOver("firstTokenMs"),
    firstOverTenthCpu: firstOver("cpuMs"),
    ...cpu,
  };
  child.kill("SIGTERM");
  await ended;
  return start;
}

/**
 * Returns the script that `npm start` runs after its checks: the bundle, or the main module in older builds without
 * one.
 */
function launch(folder: string): string {
  const bundled = "dist/bundle/main.js";
  const entry = existsSync(join(folder, bundled)) ? bundled : "dist/src/apps/cli/main.js";
  return `const { main } = await import("./${entry}"); await main(process.argv.slice(1));`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  // Safe cast: a server that listens on TCP has an address with a port.
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function isReady(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/health`, { headers: { connection: "close" } }).then(
    async (answer) => (await answer.text(), answer.ok),
    // Not healthy: the server does not listen yet.
    () => false,
  );
}

interface Chat {
  readonly firstTokenMs: number;
  /** Processor time of the server's process and all engines. */
  readonly cpuMs: number;
}

/** Sends a chat with a unique start, so that no cached prefix serves it. */
async function chat(
  server: Pick<ServedBuild, "url" | "apiKey">,
  child: ChildProcess,
  index: number,
): Promise<Chat> {
  const processes = [child.pid ?? 0, ...childrenOf(child.pid ?? 0).map(({ id }) => id)];
  const before = processes.map(runMsOf);
  const { firstTokenMs } = await streamedChat(server, {
    messages: [{ role: "user", content: `${index} times hello` }],
    max_tokens: 4,
  });
  const after = processes.map(runMsOf);
  return { firstTokenMs, cpuMs: after.reduce((sum, ms, place) => sum + ms - before[place], 0) };
}

/** Returns the processor time of the process's current threads in milliseconds. Linux counts it in nanoseconds. */
function runMsOf(id: number): number {
  const threads = readdirSync(`/proc/${id}/task`);
  return threads.reduce((sum, thread) => {
    const [ns] = readFileSync(`/proc/${id}/task/${thread}/schedstat`, "utf8").split(" ");
    return sum + Number(ns) / 1e6;
  }, 0);
}

/** Returns the processor time of the server and of its engines, which Linux counts in hundredths of a second. */
function cpuOf({ pid = 0 }: ChildProcess): Pick<Start, "serverCpuMs" | "enginesCpuMs"> {
  const engines = childrenOf(pid).map(({ id }) => cpuMsOf(id));
  return { serverCpuMs: cpuMsOf(pid), enginesCpuMs: engines.reduce((sum, ms) => sum + ms, 0) };
}

function cpuMsOf(id: number): number {
  const fields = readFileSync(`/proc/${id}/stat`, "utf8").replace(/^.*\)/s, "").trim().split(" ");
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

interface Coverage {
  readonly result: readonly { readonly url: string }[];
}

async function modulesOf(folder: string): Promise<BuildReport["modules"]> {
  const [dataFolder, coverage] = ["data", "coverage"].map((name) =>
    mkdtempSync(join(tmpdir(), `hone-${name}-`)),
  );
  await startOnce(folder, dataFolder, { environment: { NODE_V8_COVERAGE: coverage } });
  const modules = readdirSync(coverage).map((file) => {
    // Safe cast: Node wrote the file.
    const { result } = JSON.parse(readFileSync(join(coverage, file), "utf8")) as Coverage;
    const loaded = result.map(({ url }) => url).filter((url) => /^file:.*\.[cm]?js$/.test(url));
    return { started: basename(loaded[0]), count: loaded.length };
  });
  for (const made of [dataFolder, coverage]) rmSync(made, { recursive: true });
  return modules.toSorted((one, other) => other.count - one.count);
}

function textOf({ here, there }: StartReport): string {
  const lines = kinds.flatMap((kind) =>
    // Safe cast: Object.entries loses the type of the keys.
    (Object.entries(figures) as [keyof Start, string][]).map(([figure, name]) =>
      comparison(`${kind}, ${name}`, here.starts[kind][figure], there?.starts[kind][figure]),
    ),
  );
  const modules = [here, ...(there === null ? [] : [there])].map(
    (report, index) =>
      `modules ${index === 0 ? "here" : "there"}: ` +
      report.modules.map(({ started, count }) => `${started} ${count}`).join(", "),
  );
  return [...lines, ...modules].join("\n");
}

function comparison(name: string, here: number, there: number | undefined): string {
  const ratio = there === undefined ? "" : `, ${shown(there)} there, ratio ${(here / there).toFixed(2)}`;
  return `${name}: ${shown(here)} here${ratio}`;
}

function shown(figure: number): string {
  return figure.toFixed(figure < 10 ? 2 : 0);
}
