// Tests that computing sends no telemetry and leaves no files. Each program runs in a separate process, with its own
// home folder.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

const urlOf = (module: string): string => JSON.stringify(new URL(module, import.meta.url).href);

/** Program that creates a session and runs it. */
const compute = `(async () => {
  const { createSession } = await import(${urlOf("./session.js")});
  const { GraphBuilder } = await import(${urlOf("../../lib/graph/builder.js")});
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B"]);
  const graph = builder.build({ y: builder.add(x, x) });
  const session = await createSession(graph, { weights: new Map(), threads: 1 });
  const { y } = await session.run({ x: { dtype: "float32", dims: [2], data: Float32Array.of(1, 2) } });
  console.log(y.data.join());
})();`;

/** Returns a program that runs `program` in the main thread, and then runs {@link compute} in another thread. */
const inThread = (program: string): string => `(async () => {
  const { silenceRuntime } = await import(${urlOf("./environment.js")});
  ${program};
  new (require("node:worker_threads").Worker)(${JSON.stringify(compute)}, { eval: true });
})();`;

for (const [where, program] of Object.entries({
  "in a process": compute,
  "in a thread": inThread("silenceRuntime()"),
}))
  test(`computing ${where} sends no telemetry, and leaves nothing in the home folder`, (t) => {
    const { home, output, status } = computeAlone(t, program);
    assert.deepEqual([status, output], [0, "2,4\n"]);
    assert.deepEqual(readdirSync(home), []);
  });

test("a thread refuses to compute if its process may send telemetry", (t) => {
  const { output, errors, status } = computeAlone(t, inThread(""));
  assert.deepEqual([status, output], [1, ""]);
  assert.match(errors, /must hold: the main thread silenced the runtime/);
});

/** Runs a program in a process whose environment does not already turn off the runtime's telemetry. */
function computeAlone(t: TestContext, program: string) {
  const home = mkdtempSync(join(tmpdir(), "home-"));
  t.after(() => rmSync(home, { recursive: true }));
  const { stdout, stderr, status } = spawnSync(process.execPath, ["-e", program], {
    env: { HOME: home },
    encoding: "utf8",
    timeout: 60_000,
  });
  return { home, output: stdout, errors: stderr, status };
}
