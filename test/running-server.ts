// Starts servers as users run them: in a separate process on a free port of the loopback address, with a separate data
// folder.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { SettingsOverrides } from "../src/apps/server/settings.ts";

export interface RunningServer {
  readonly url: string;
  readonly apiKey: string;
  readonly dataFolder: string;
  readonly process: ChildProcess;
  /** Asks the server to stop, waits, and returns its exit status. */
  terminate(): Promise<number | null>;
  /** Kills the server immediately, like a power failure. */
  kill(): Promise<void>;
  /** Returns everything that the server has written so far. */
  output(): string;
}

/** Options of a test server: those of an operator, and those that only code can set. */
export interface ServerOptions {
  readonly flags?: readonly string[];
  readonly limits?: SettingsOverrides;
  /** Environment variables to add to the variables of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Maximum wait in milliseconds. No test needs nearly as long, so a wait that reaches this limit would never end. */
const waitMs = 180_000;

const builtEntry = "dist/src/apps/cli/main.js";
/**
 * Path of the program that test servers run. Scripts that run the tests have built the bundle, and pass its path in
 * TEST_SERVER. Otherwise the bundle may be outdated, so test servers run the build itself.
 */
const usualEntry = process.env["TEST_SERVER"] ?? builtEntry;

/**
 * True to skip optional preparation at the start. Preparation only makes the first chat faster, which no test measures;
 * benchmarks do.
 */
const nothingAhead = process.env["TEST_SERVER"] !== undefined;

/** Returns a script that runs `hone` with overridden limits. */
function launch(entry: string, limits: SettingsOverrides): string {
  const given = nothingAhead
    ? { ...limits, server: { firstChats: false }, engine: { preparesAhead: false, ...limits.engine } }
    : limits;
  const run = `await main(process.argv.slice(1), ${JSON.stringify(given)});`;
  return `const { main } = await import(${JSON.stringify(`./${entry}`)}); ${run}`;
}

/**
 * Returns a script like that of {@link launch} with a stepped clock. It runs the build instead of the bundle, because
 * it steps the clock of the build's modules.
 */
function launchByClock(clockFile: string, limits: SettingsOverrides): string {
  const follow = `followClockFile(${JSON.stringify(clockFile)});`;
  return `const { followClockFile } = await import("./dist/test/stepped-clock.js"); ${follow} ${launch(builtEntry, limits)}`;
}

export function newDataFolder(): string {
  return mkdtempSync(join(tmpdir(), "hone-test-"));
}

export function removeDataFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Starts `hone serve`, and returns once it reports that it is listening. */
export async function startServer(
  options: ServerOptions & {
    readonly dataFolder: string;
    /** Entry script of another build; see {@link launch}. */
    readonly entry?: string;
    /** File with the number of milliseconds by which the server's clock is ahead; see stepped-clock.ts. */
    readonly clockFile?: string;
    /** Limit on open files, set by a shell. */
    readonly openFilesMax?: number;
  },
): Promise<RunningServer> {
  const {
    dataFolder,
    flags = [],
    limits = {},
    clockFile,
    openFilesMax,
    environment = {},
    entry = usualEntry,
  } = options;
  const shell =
    openFilesMax === undefined ? [] : ["bash", "-c", `ulimit -n ${openFilesMax} && exec "$@"`, "--"];
  const [command, ...commandFlags] = [...shell, process.execPath];
  const child = spawn(
    command,
    [
      ...commandFlags,
      "--input-type=module",
      "-e",
      clockFile === undefined ? launch(entry, limits) : launchByClock(clockFile, limits),
      "serve",
      "--port",
      "0",
      "--data",
      dataFolder,
      "--log-level",
      "warn",
      ...flags,
    ],
    { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...environment } },
  );
  dieWithTests(child);
  let output = "";
  // The event "close" comes only when every process that inherited the server's output has ended.
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  const url = await new Promise<string>((resolve, reject) => {
    const deadline = setTimeout(
      () => reject(new Error(`not listening after ${waitMs} ms:\n${output}`)),
      waitMs,
    );
    const onData = (data: Buffer): void => {
      output += data.toString();
      const match = /listening on (http:\S+)/.exec(output);
      if (match?.[1] !== undefined) {
        clearTimeout(deadline);
        resolve(match[1]);
      }
    };
    child.stdout.on("data", onData);
    child.stderr.on("data", onData);
    child.once("close", (code) => {
      clearTimeout(deadline);
      reject(new Error(`ended with ${code} before listening:\n${output}`));
    });
  });
  const endedAfter = async (signal: "SIGTERM" | "SIGKILL"): Promise<number | null> => {
    child.kill(signal);
    const tooLate = new AbortController();
    const deadline = sleep(waitMs, undefined, { signal: tooLate.signal }).then(
      () => {
        throw new Error(`${stateOf(child)} ${waitMs} ms after ${signal}:\n${output}`);
      },
      () => null,
    );
    try {
      return await Promise.race([ended, deadline]);
    } finally {
      tooLate.abort();
    }
  };
  const keyFile = join(dataFolder, "admin-key");
  return {
    url,
    // The file does not exist if authentication is off.
    apiKey: existsSync(keyFile) ? readFileSync(keyFile, "utf8").trim() : "",
    dataFolder,
    process: child,
    terminate: () => endedAfter("SIGTERM"),
    kill: async () => void (await endedAfter("SIGKILL")),
    output: () => output,
  };
}

/** Lets this process exit even if the server of a failed test still runs. Kills that server when the process exits. */
function dieWithTests(child: ChildProcess): void {
  child.unref();
  for (const stream of [child.stdout, child.stderr]) (stream as Socket | null)?.unref();
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("close", () => process.removeListener("exit", kill));
}

/** Describes whether a server's process still runs, and lists child processes that other servers left running. */
function stateOf({ pid, exitCode, signalCode }: ChildProcess): string {
  const orphans = childrenOf(1).filter(({ command }) => /(child|embedded)-main/.test(command));
  const left = orphans.map(({ id, command }) => `${id} ${command}`).join(", ");
  const own = exitCode === null && signalCode === null ? "still runs" : "has ended, its output has not";
  return `process ${pid} ${own} (without a server: ${left || "none"})`;
}

interface FileServer {
  readonly server: () => RunningServer;
  /** Functions to call once the server listens. */
  readonly onStart: ((server: RunningServer) => void)[];
}

/** The servers that test files in this process share, by their options. */
const fileServers = new Map<string, FileServer>();

/**
 * Returns a function that returns the server of a test file; call it within the file's tests. The server starts before
 * the first test, and is stopped and deleted after the last. Files in one process with the same options share a server,
 * so each uses its own models.
 */
export function serverOfFile({
  flags = [],
  limits = {},
  environment = {},
  onStart = () => undefined,
}: ServerOptions & { readonly onStart?: (server: RunningServer) => void } = {}): () => RunningServer {
  const key = JSON.stringify([flags, limits, environment]);
  const shared = fileServers.get(key) ?? startedByTests({ flags, limits, environment });
  fileServers.set(key, shared);
  shared.onStart.push(onStart);
  return shared.server;
}

function startedByTests(options: ServerOptions): FileServer {
  const dataFolder = newDataFolder();
  const onStart: FileServer["onStart"] = [];
  let server: RunningServer | undefined;
  before(async () => {
    server = await startServer({ dataFolder, ...options });
    for (const call of onStart) call(server);
  });
  after(async () => {
    await server?.terminate();
    removeDataFolder(dataFolder);
  });
  const started = (): RunningServer => {
    if (server === undefined) throw new Error("the server of a file starts with its first test");
    return server;
  };
  return { server: started, onStart };
}

/** Returns the child processes of a process, by id and command line. */
export function childrenOf(processId: number): readonly { readonly id: number; readonly command: string }[] {
  const listed = spawnSync("ps", ["-A", "-o", "pid=,ppid=,args="], { encoding: "utf8" }).stdout;
  return listed.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line);
    return match !== null && Number(match[2]) === processId
      ? [{ id: Number(match[1]), command: match[3] ?? "" }]
      : [];
  });
}

/** Longest pause in milliseconds between two calls of a polled function. The first pause is a tenth of it. */
const longestPauseMs = 200;

/** Polls until the result is not null, less and less often; throws after the deadline. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | null>,
  deadlineMs = 120_000,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (let pauseMs = longestPauseMs / 10; ; pauseMs = Math.min(1.5 * pauseMs, longestPauseMs)) {
    const answer = await ask();
    if (answer !== null) return answer;
    if (performance.now() > end) throw new Error(`never happened within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/**
 * Calls the API with the server's key.
 *
 * @throws DOMException `TimeoutError` if no answer arrives
 */
export async function call(
  server: Pick<RunningServer, "url" | "apiKey">,
  method: string,
  path: string,
  options: {
    readonly body?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
    readonly scheme?: "Bearer" | "Basic";
  } = {},
): Promise<{ readonly status: number; readonly body: any; readonly headers: Headers }> {
  const credentials =
    options.scheme === "Basic"
      ? `Basic ${Buffer.from(`api:${server.apiKey}`).toString("base64")}`
      : `Bearer ${server.apiKey}`;
  const response = await fetch(server.url + path, {
    method,
    signal: AbortSignal.timeout(waitMs),
    headers: {
      authorization: credentials,
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : parsed(text), headers: response.headers };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
