// Runs one test file in a group of processes of its own, of which nothing is left afterwards.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";

export interface TestOutcome {
  readonly isPassed: boolean;
  readonly durationMs: number;
  /** The first test that failed, or why there is none. */
  readonly failure: string;
}

/** @param file relative to `folder`, as it is built */
export async function runTest(
  folder: string,
  file: string,
  options: { readonly limitMs: number; readonly environment?: Readonly<Record<string, string>> },
): Promise<TestOutcome> {
  const start = performance.now();
  const child = spawn(process.execPath, ["--test-reporter=tap", file], {
    cwd: folder,
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, ...options.environment },
  });
  yieldToOthers(child.pid);
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  let isOverLimit = false;
  const limit = setTimeout(() => {
    isOverLimit = true;
    endGroup(child.pid);
  }, options.limitMs);
  // Not `close`: a process that the test left behind may hold the pipe.
  const status = await new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  clearTimeout(limit);
  endGroup(child.pid);
  const named = /^\s*not ok \d+ - (.*)$/m.exec(output)?.[1];
  return {
    isPassed: status === 0,
    durationMs: Math.round(performance.now() - start),
    failure: isOverLimit ? `not over after ${options.limitMs} ms` : (named ?? `ended with ${status}`),
  };
}

/** A kernel that shares its time between sessions goes by this number, and not by a process's own. */
function yieldToOthers(id: number | undefined): void {
  try {
    writeFileSync(`/proc/${id}/autogroup`, "10");
  } catch {
    // It shares its time otherwise.
  }
}

function endGroup(id: number | undefined): void {
  if (id === undefined) return;
  try {
    process.kill(-id, "SIGKILL");
  } catch {
    // All of it is gone.
  }
}
