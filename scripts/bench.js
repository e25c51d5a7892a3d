// `npm run bench`: sets up what is missing, then measures serving and training beside the machine's limits.
// Each benchmark runs in a process of its own, with the environment that the server gives its children.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root, say, setUp } from "./setup.js";

setUp();
const { computeEnvironment } = await import(
  pathToFileURL(join(root, "dist", "src", "runtime", "environment.js")).href
);
for (const name of ["engine", "train-step"]) {
  say(`bench/${name}`);
  const { status } = spawnSync(
    process.execPath,
    [join(root, "dist", "bench", `${name}.js`), ...process.argv.slice(2)],
    {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...computeEnvironment, ...process.env },
    },
  );
  if (status !== 0) process.exit(status ?? 1);
}
