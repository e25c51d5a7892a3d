// What a start costs: how many modules each process and thread loads, and the time from the command to the first answer of
// /health that says all is well, by the clock and in processor time, with the built-in model. A first start makes its data
// folder; the next one finds it. Node itself says what was loaded (its coverage), in a start that is not timed.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { childrenOf } from "../test/running-server.ts";
import { ownFolder, runComparingBench, type BenchOptions, type Report } from "./run-bench.ts";

const kinds = ["first start", "next start"] as const;
const askEveryMs = 2;

interface Start {
  readonly wallMs: number;
  /** Of all processes, up to that moment. */
  readonly cpuMs: number;
}

interface BuildReport {
  /** By the module that a process or thread was started with. */
  readonly modules: readonly { readonly started: string; readonly count: number }[];
  readonly starts: Readonly<Record<(typeof kinds)[number], Start>>;
}

interface StartReport extends Report {
  readonly here: BuildReport;
  readonly there: BuildReport | null;
}

await runComparingBench<StartReport>({
  script: import.meta.url,
  help: "Usage: node dist/bench/start.js [options]\nMeasures what a start of the server costs.",
  measure,
  textOf,
});

/** Both builds start turn about; the medians count. */
async function measure({ against, rounds }: BenchOptions): Promise<readonly StartReport[]> {
  const folders = against === null ? [ownFolder] : [ownFolder, against];
  const starts = folders.map((): Record<(typeof kinds)[number], Start[]> => ({
    "first start": [],
    "next start": [],
  }));
  for (let round = 0; round < rounds; round++) {
    for (const [index, folder] of folders.entries()) {
      const dataFolder = mkdtempSync(join(tmpdir(), "hone-bench-"));
      for (const kind of kinds) starts[index][kind].push(await startOnce(folder, dataFolder));
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

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];
}

function typical(starts: readonly Start[]): Start {
  return {
    wallMs: median(starts.map(({ wallMs }) => wallMs)),
    cpuMs: median(starts.map(({ cpuMs }) => cpuMs)),
  };
}

async function startOnce(
  folder: string,
  dataFolder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Start> {
  const port = await freePort();
  const startMs = performance.now();
  const child = spawn(
    process.execPath,
    ["--input-type=module", "-e", launch(folder), "serve", "--port", `${port}`, "--data", dataFolder],
    { cwd: folder, stdio: "ignore", env: { ...process.env, ...environment } },
  );
  const ended = once(child, "close");
  while (!(await isReady(port))) {
    if (child.exitCode !== null) throw new Error(`The server of ${folder} does not start.`);
    await sleep(askEveryMs);
  }
  const start = { wallMs: performance.now() - startMs, cpuMs: cpuMsOf(child) };
  child.kill("SIGTERM");
  await ended;
  return start;
}

/** As `npm start` does once all is set up: the bundle, which older builds do not have. */
function launch(folder: string): string {
  const bundled = "dist/bundle/main.js";
  const entry = existsSync(join(folder, bundled)) ? bundled : "dist/src/cli/main.js";
  return `const { main } = await import("./${entry}"); await main(process.argv.slice(1));`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  // A port on an address has an address that is no path.
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function isReady(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/health`, { headers: { connection: "close" } }).then(
    async (answer) => (await answer.text(), answer.ok),
    // Nobody listens yet.
    () => false,
  );
}

/** Linux counts hundredths of a second; the process's name stands in brackets before the numbers. */
function cpuMsOf({ pid = 0 }: ChildProcess): number {
  const ids = [pid, ...childrenOf(pid).map(({ id }) => id)];
  return ids
    .map((id) => readFileSync(`/proc/${id}/stat`, "utf8").replace(/^.*\)/s, "").trim().split(" "))
    .reduce((sum, fields) => sum + 10 * (Number(fields[11]) + Number(fields[12])), 0);
}

interface Coverage {
  readonly result: readonly { readonly url: string }[];
}

async function modulesOf(folder: string): Promise<BuildReport["modules"]> {
  const [dataFolder, coverage] = ["data", "coverage"].map((name) =>
    mkdtempSync(join(tmpdir(), `hone-${name}-`)),
  );
  await startOnce(folder, dataFolder, { NODE_V8_COVERAGE: coverage });
  const modules = readdirSync(coverage).map((file) => {
    // Node's own file.
    const { result } = JSON.parse(readFileSync(join(coverage, file), "utf8")) as Coverage;
    const loaded = result.map(({ url }) => url).filter((url) => /^file:.*\.[cm]?js$/.test(url));
    return { started: basename(loaded[0]), count: loaded.length };
  });
  for (const made of [dataFolder, coverage]) rmSync(made, { recursive: true });
  return modules.toSorted((one, other) => other.count - one.count);
}

function textOf({ here, there }: StartReport): string {
  const lines = kinds.flatMap((kind) => [
    comparison(`${kind}, ms to ready`, here.starts[kind].wallMs, there?.starts[kind].wallMs),
    comparison(`${kind}, ms of processor`, here.starts[kind].cpuMs, there?.starts[kind].cpuMs),
  ]);
  const modules = [here, ...(there === null ? [] : [there])].map(
    (report, index) =>
      `modules ${index === 0 ? "here" : "there"}: ` +
      report.modules.map(({ started, count }) => `${started} ${count}`).join(", "),
  );
  return [...lines, ...modules].join("\n");
}

function comparison(name: string, here: number, there: number | undefined): string {
  const ratio = there === undefined ? "" : `, ${there.toFixed(0)} there, ratio ${(here / there).toFixed(2)}`;
  return `${name}: ${here.toFixed(0)} here${ratio}`;
}
