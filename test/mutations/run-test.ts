// Runs one test file in a separate process group, and kills all remaining processes of the group afterwards.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";

export interface TestOutcome {
  readonly isPassed: boolean;
  readonly durationMs: number;
  /** The first test that failed, or the reason why no failed test was reported. */
  readonly failure: string;
}

/** @param file path of the built test, relative to `folder` */
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
  // Waits for `exit` instead of `close`, because a process that the test left behind may keep the pipe open.
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

/**
 * Lowers the scheduling priority of the process's Unix session. If the kernel groups processes by session (autogroup),
 * the session's priority counts instead of the process's own.
 */
function yieldToOthers(id: number | undefined): void {
  try {
    writeFileSync(`/proc/${id}/autogroup`, "10");
  } catch {
    // Ignored: this kernel does not group processes by session.
  }
}

function endGroup(id: number | undefined): void {
  if (id === undefined) return;
  try {
    process.kill(-id, "SIGKILL");
  } catch {
    // Ignored: the whole group has already ended.
  }
}
