// Runs `hone serve` with the measured model as users do: in a separate process, on a free port of the loopback address,
// with a data folder that several starts may share.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { present } from "../../../src/base/domain/assert.ts";
import { childrenUsage } from "../../../src/base/processes/children-usage.ts";
import { Hone } from "../../../src/apps/client/hone.ts";
import { ownFolder } from "../run-bench.ts";
import { cpuTimesOf } from "../served-build.ts";
import { MemoryWatch } from "./memory-watch.ts";
import type { SizedModel } from "./sized-model.ts";

/** Name of the measured model on the server. */
export const servedName = "sized";

/**
 * Pause in milliseconds between two questions whether the server is healthy. With a shorter pause, the answers would
 * add to the server's processor time.
 */
const askEveryMs = 25;

/** Seconds without work after which the server counts as idle, and the maximum time to wait for them. */
const [idleSeconds, idleSecondsMax] = [4, 120];

export interface ServeOptions {
  readonly dataFolder: string;
  /** Number of compute threads; 0 for one per core. */
  readonly threads: number;
}

export class ServedModel {
  readonly url: string;
  readonly apiKey: string;
  /** Time from the command until the server reported that it was healthy. */
  readonly readySeconds: number;
  /** Processor time of all processes of the server until then. */
  readonly readyCpuSeconds: number;
  readonly watch: MemoryWatch;
  readonly #child: ChildProcess;
  readonly #cacheFolder: string;

  private constructor(child: ChildProcess, watch: MemoryWatch, facts: ServerFacts) {
    this.#child = child;
    this.#cacheFolder = facts.cacheFolder;
    this.watch = watch;
    this.url = facts.url;
    this.apiKey = facts.apiKey;
    this.readySeconds = facts.readySeconds;
    this.readyCpuSeconds = this.cpuSeconds;
  }

  /** Starts the server, and returns when it is healthy. */
  static async start(
    { path, quantize }: SizedModel,
    { dataFolder, threads }: ServeOptions,
  ): Promise<ServedModel> {
    const startMs = performance.now();
    const flags = ["--port", "0", "--data", dataFolder, "--log-level", "warn"];
    flags.push("--model", `${servedName}=${path}`, "--quantize", quantize, "--engine-threads", `${threads}`);
    const program = join(ownFolder, "bin", "hone.js");
    const child = spawn(process.execPath, [program, "serve", ...flags], {
      cwd: ownFolder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const cacheFolder = join(dataFolder, "cache");
    const watch = new MemoryWatch(present(child.pid, "the id of a new process"), cacheFolder);
    const kill = (): void => void child.kill("SIGKILL");
    process.once("exit", kill);
    child.once("close", () => (watch.end(), process.removeListener("exit", kill)));
    const url = await urlOf(child);
    while (!(await isHealthy(url))) await sleep(askEveryMs);
    watch.sample();
    const apiKey = readFileSync(join(dataFolder, "admin-key"), "utf8").trim();
    const readySeconds = (performance.now() - startMs) / 1000;
    return new ServedModel(child, watch, { url, apiKey, cacheFolder, readySeconds });
  }

  get client(): Hone {
    return new Hone({ baseUrl: this.url, apiKey: this.apiKey });
  }

  get id(): number {
    return present(this.#child.pid, "the id of the server's process");
  }

  /** Processor time of the server and its child processes, including those that have ended. */
  get cpuSeconds(): number {
    const { own, ended } = cpuTimesOf(this.id) ?? { own: 0, ended: 0 };
    return childrenUsage(this.id).reduce((sum, { cpuSeconds }) => sum + cpuSeconds, own + ended);
  }

  /** Waits until the server has prepared everything that it prepares while it is idle. */
  async untilIdle(): Promise<void> {
    let quiet = 0;
    for (let waited = 0; waited < idleSecondsMax && quiet < idleSeconds; waited++) {
      const before = this.cpuSeconds;
      await sleep(1000);
      // While a file is written to the disk, the server may use no processor time.
      const isWriting = readdirSync(this.#cacheFolder).some((name) => name.endsWith(".partial"));
      quiet = !isWriting && this.cpuSeconds - before < 0.05 ? quiet + 1 : 0;
    }
  }

  async stop(): Promise<void> {
    const closed = once(this.#child, "close");
    this.#child.kill("SIGTERM");
    await closed;
  }
}

interface ServerFacts {
  readonly cacheFolder: string;
  readonly url: string;
  readonly apiKey: string;
  readonly readySeconds: number;
}

/** Returns the URL that the server prints when it listens. */
function urlOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    const read = (data: Buffer): void => {
      output += data.toString();
      const match = /listening on (http:\S+)/.exec(output);
      if (match !== null) resolve(match[1]);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("close", () => reject(new Error(`The server does not start:\n${output}`)));
  });
}

/** True if the server reports that it is ready. False while it loads models or does not answer. */
async function isHealthy(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/health`).catch(() => null);
  await answer?.text();
  return answer?.ok === true;
}
