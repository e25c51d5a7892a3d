// `npm run bench`: sets up the checkout, then measures serving and training, and compares them with the machine's
// limits. Each benchmark runs in a separate process, with the environment that the server gives its child processes.
// All benchmarks take the same flags, which tools/bench/run-bench.ts parses.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root, say, setUp } from "./setup.js";

const flags = process.argv.slice(2);
setUp();
const { computeEnvironment } = await import(
  pathToFileURL(join(root, "dist", "src", "inference", "onnx", "environment.js")).href
);
const results = {};
for (const name of ["engine", "loop", "train-step", "http"]) {
  say(`tools/bench/${name}`);
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(root, "dist", "tools", "bench", `${name}.js`), ...flags],
    {
      stdio: ["ignore", "pipe", "inherit"],
      encoding: "utf8",
      env: { ...computeEnvironment, ...process.env },
    },
  );
  if (status !== 0) process.exit(status ?? 1);
  if (flags.includes("--json")) results[name] = JSON.parse(stdout);
  else process.stdout.write(stdout);
}
if (flags.includes("--json")) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
