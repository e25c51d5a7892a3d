import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

/**
 * Runs a process that forwards these texts of its child. Returns its standard error, and the messages that it keeps in
 * memory.
 */
function forwarded(texts: readonly string[]): { readonly errors: string; readonly kept: readonly string[] } {
  const module = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
  const program = `
    const { createLogger, forwardOutput } = await import(${module("./logger.js")});
    const { RecentLog } = await import(${module("./recent-log.js")});
    const recent = new RecentLog();
    createLogger({ level: "info", format: "people" }, recent).info("its own");
    for (const text of ${JSON.stringify(texts)}) forwardOutput(text);
    const { items } = recent.list({ after: null, limit: 100, order: "asc" }, "debug");
    console.log(JSON.stringify(items.map(({ message }) => message)));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
  });
  return { errors: stderr, kept: JSON.parse(stdout) as readonly string[] };
}

test("forwards log lines of a child process as lines of this log, and other output unchanged", () => {
  const line = '{"level":40,"time":"2026-11-28T22:40:50.123Z","component":"engine","msg":"of a child"}\n';
  const { errors, kept } = forwarded([
    `native warning\n${line}`,
    '{"level":"x"}\n',
    '{"level":50,"msg":"cut',
    "off\n",
  ]);
  assert.deepEqual(kept, ["its own", "of a child"]);
  assert.match(
    errors,
    /^\S+ {2}its own\nnative warning\n\S+ {2}warning {2}of a child {2}component=engine\n\{"level":"x"\}\n\{"level":50,"msg":"cutoff\n$/,
  );
});
