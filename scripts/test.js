// `npm test`: sets up what is missing, then runs every test. Names after `--` choose the files whose path holds one of them.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { root, say, setUp } from "./setup.js";

setUp();
const wanted = process.argv.slice(2);
const files = ["src", "test", "recipes", "bench"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))),
  )
  .filter((name) => name.endsWith(".test.ts"))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  .sort((one, other) => one.localeCompare(other))
  .map((name) => join("dist", name.replace(/\.ts$/, ".js")));
if (files.length === 0) {
  say(`no test file matches ${wanted.join(", ")}`);
  process.exit(1);
}
say(`running ${files.length} test files`);
// Left to itself the runner keeps one core free, which on two is half of them.
const flags = ["--test", "--test-reporter=spec", `--test-concurrency=${availableParallelism()}`];
const result = spawnSync(process.execPath, [...flags, ...files], {
  cwd: root,
  stdio: ["ignore", "inherit", "inherit"],
});
process.exit(result.status ?? 1);
