// Set-up before every command: installs dependencies, builds, bundles, and builds the guide. Does only what is missing
// and says so; concurrent commands wait for each other. Plain JavaScript, because it runs before the build.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { takeTurns } from "./take-turns.js";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const installStamp = join(root, "node_modules", ".hone-installed");
const buildStamp = join(root, "dist", ".hone-built");
/** The product in few files, made of the build. */
export const bundleFolder = join(root, "dist", "bundle");
/** The page, as browsers get it. */
export const pageFolder = join(root, "dist", "dashboard");
/** The docs as a static site. */
export const guideFolder = join(root, "dist", "guide");
export const bundleStamp = join(root, "dist", ".hone-bundled");
/** The module of it that holds the `hone` command, relative to the root. */
export const bundledEntry = join("dist", "bundle", "main.js");
const lock = join(root, "dist", ".setup-lock");
/** Longer than installing and building take on a slow machine. */
const waitDeadlineMs = 15 * 60_000;
const sourceFolders = ["src", "examples", "test", join("tools", "bench"), join("tools", "recipes")];

/** Installs and builds what is missing or out of date. Ends the process when that fails. */
export function setUp() {
  if (isInstalled() && isBuilt() && isBundled() && hasGuide()) return;
  const onWait = (holder) => say(`waiting for ${holder}, which sets up this checkout`);
  try {
    takeTurns(lock, installAndBuild, { deadlineMs: waitDeadlineMs, onWait });
  } catch (error) {
    say(error.message);
    process.exit(1);
  }
}

function installAndBuild() {
  // The previous holder of the lock may have installed them.
  if (!isInstalled()) {
    say("installing dependencies (npm ci)");
    // The variable keeps ONNX Runtime's install step from downloading CUDA libraries, also with an older npm.
    run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { ONNXRUNTIME_NODE_INSTALL: "skip" });
    writeFileSync(installStamp, lockHash());
  }
  if (!isBuilt()) {
    say("building (tsc)");
    run(process.execPath, [join(root, "scripts", "client-api.js")], {});
    for (const project of [root, join(root, "src", "apps", "dashboard")])
      run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", project], {});
    writeFileSync(buildStamp, "");
  }
  if (!isBundled()) {
    say("bundling (esbuild)");
    // The bundle comes last: its stamp says that all three are there.
    for (const script of ["page.js", "client.js", "bundle.js"])
      run(process.execPath, [join(root, "scripts", script)], {});
  }
  if (!hasGuide()) {
    say("building the guide (Eleventy)");
    run(process.execPath, [join(root, "scripts", "guide", "build.js")], {});
  }
}

function lockHash() {
  return createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
}

function isInstalled() {
  return existsSync(installStamp) && readFileSync(installStamp, "utf8") === lockHash();
}

function isBuilt() {
  return existsSync(buildStamp) && statSync(buildStamp).mtimeMs >= newestChange();
}

/** Also after a build by other means, which leaves its stamp. */
function isBundled() {
  return existsSync(bundleStamp) && statSync(bundleStamp).mtimeMs >= statSync(buildStamp).mtimeMs;
}

/** The index comes before the search files, so a build that was interrupted has no entry of the search. */
function hasGuide() {
  const entry = join(guideFolder, "pagefind", "pagefind-entry.json.br");
  return (
    existsSync(entry) &&
    statSync(entry).mtimeMs >=
      newestIn([join(root, "docs"), join(root, "scripts", "guide")], /\.(?:md|png|css|js)$/)
  );
}

/** Says on standard error what is being done, so that standard output stays the command's own. */
export function say(what) {
  process.stderr.write(`hone: ${what}\n`);
}

function run(command, parameters, environment) {
  const result = spawnSync(command, parameters, {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...environment },
    // npm is a batch file on Windows, which only a shell starts.
    shell: process.platform === "win32" && command === "npm",
  });
  if (result.status !== 0) {
    const reason = result.error ? `: ${result.error.message}` : "";
    throw new Error(`${command} ${parameters.join(" ")} failed${reason}`);
  }
}

function newestChange() {
  const folders = sourceFolders.map((folder) => join(root, folder));
  return Math.max(statSync(join(root, "tsconfig.json")).mtimeMs, newestIn(folders, /\.(tsx?|css|html)$/));
}

/** Returns when files of the given names, or the folders above them, last changed. */
function newestIn(folders, names) {
  let newest = 0;
  const visit = (folder) => {
    newest = Math.max(newest, statSync(folder).mtimeMs);
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (entry.name !== "fixtures") visit(path);
      } else if (names.test(entry.name)) newest = Math.max(newest, statSync(path).mtimeMs);
    }
  };
  for (const folder of folders) visit(folder);
  return newest;
}
