// Runs the server of a built checkout for benchmarks over HTTP: in a separate process, on a free port of the loopback
// address, with a temporary data folder.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { childrenOf } from "../../test/running-server.ts";
import type { SettingsOverrides } from "../../src/apps/server/settings.ts";
import { present } from "../../src/base/domain/assert.ts";

export interface ServedBuild {
  readonly url: string;
  readonly apiKey: string;
  /** Process id of the server; its engine and other helpers are children of this process. */
  readonly processId: number;
  /** Processor time in seconds that the server's process has used, without its children; null if unknown. */
  cpuSeconds(): number | null;
  /** Processor time in seconds that the server's children have used, including the engines; null if unknown. */
  childrenCpuSeconds(): number | null;
  stop(): Promise<void>;
}

/** A server on this machine that runs a given build. */
export interface LocalBuild extends ServedBuild {
  readonly dataFolder: string;
}

const launch = (limits: SettingsOverrides): string =>
  `const { main } = await import("./dist/src/apps/cli/main.js"); await main(process.argv.slice(1), ${JSON.stringify(limits)});`;

/** Starts `serve` of the build in `folder` with a model named `endless`, and returns when the server listens. */
export async function serveBuild(
  folder: string,
  {
    modelFolder,
    threads,
    flags: ownFlags = [],
    limits = {},
  }: {
    readonly modelFolder: string;
    readonly threads: number;
    /** Flags of `serve`, in addition to those this function sets. */
    readonly flags?: readonly string[];
    /** Overrides of the server's constants. */
    readonly limits?: SettingsOverrides;
  },
): Promise<LocalBuild> {
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-bench-"));
  const flags = ["--port", "0", "--data", dataFolder, "--log-level", "warn"];
  flags.push("--model", `endless=${modelFolder}`, "--engine-threads", `${threads}`, ...ownFlags);
  const child = spawn(process.execPath, ["--input-type=module", "-e", launch(limits), "serve", ...flags], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    let output = "";
    const read = (data: Buffer): void => {
      output += data.toString();
      const match = /listening on (http:\S+)/.exec(output);
      if (match !== null) resolve(match[1]);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("close", () => reject(new Error(`The server of ${folder} does not start:\n${output}`)));
  });
  return {
    url,
    apiKey: readFileSync(join(dataFolder, "admin-key"), "utf8").trim(),
    processId: present(child.pid, "the id of a process that answers"),
    dataFolder,
    cpuSeconds: () => cpuSecondsOf(child.pid),
    childrenCpuSeconds: () =>
      childrenOf(child.pid ?? 0)
        .map(({ id }) => cpuSecondsOf(id))
        .reduce((sum, seconds) => (sum === null || seconds === null ? null : sum + seconds), 0),
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}

/** Waits until engines and prompt threads have started and warmed up. @throws Error after a minute */
export async function untilWell(url: string): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    const { ok } = await fetch(`${url}/health`);
    if (ok) return;
    await sleep(100);
  }
  throw new Error("The server is not healthy after a minute.");
}

/** Returns the processor time of a process in seconds, without its children; null if unknown. */
export function cpuSecondsOf(processId: number | undefined): number | null {
  return cpuTimesOf(processId)?.own ?? null;
}

/**
 * Returns the processor time in seconds of a process, and of those of its children that have ended; null if unknown.
 * Linux counts it in hundredths of a second, in fields after the process's name in parentheses.
 */
export function cpuTimesOf(
  processId: number | undefined,
): { readonly own: number; readonly ended: number } | null {
  try {
    const fields = readFileSync(`/proc/${processId}/stat`, "utf8").replace(/^.*\)/s, "").trim().split(" ");
    const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number);
    return { own: (user + system) / 100, ended: (endedUser + endedSystem) / 100 };
  } catch {
    return null;
  }
}
