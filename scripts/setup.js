// Set-up before each command: installs dependencies, builds, bundles, and builds the guide. It does only the missing
// steps, several at a time, and prints what it does; concurrent commands wait for each other. It is plain JavaScript because it runs before the
// build.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { takeTurns } from "./take-turns.js";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const installStamp = join(root, "node_modules", ".hone-installed");
const buildStamp = join(root, "dist", ".hone-built");
/** Folder of the bundle, which contains the product in a few files. */
export const bundleFolder = join(root, "dist", "bundle");
/** Folder of the bundle's compiled functions, which processes write (compiled-parts.cjs). */
export const compiledFolder = join(root, "dist", "compiled");
/** Folder of the built dashboard. */
export const pageFolder = join(root, "dist", "dashboard");
/** Folder of the built guide, a static site. */
export const guideFolder = join(root, "dist", "guide");
export const bundleStamp = join(root, "dist", ".hone-bundled");
/** Bundled module of the `hone` command, relative to the repository's root. */
export const bundledEntry = join("dist", "bundle", "main.js");
const lock = join(root, "dist", ".setup-lock");
/** Maximum time in milliseconds to wait for another set-up. Installing and building take less even on a slow machine. */
const waitDeadlineMs = 15 * 60_000;
const sourceFolders = ["src", "examples", "test", join("tools", "bench"), join("tools", "recipes")];

/** Installs and builds what is missing or out of date. Exits the process if that fails. */
export function setUp() {
  if (isInstalled() && isBuilt() && isBundled() && hasGuide()) return;
  const onWait = (holder) => say(`waiting until ${holder} has set up this checkout`);
  try {
    takeTurns(lock, installAndBuild, { deadlineMs: waitDeadlineMs, onWait });
  } catch (error) {
    say(error.message);
    process.exit(1);
  }
}

function installAndBuild() {
  // Checked again, because another process may have installed the dependencies before this one got the lock.
  if (!isInstalled()) {
    say("installing dependencies (npm ci)");
    // `ONNXRUNTIME_NODE_INSTALL` is for older npm versions: it keeps the install script of ONNX Runtime from
    // downloading CUDA libraries.
    run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { ONNXRUNTIME_NODE_INSTALL: "skip" });
    writeFileSync(installStamp, lockHash());
  }
  const isStale = !isBuilt();
  if (!isStale && isBundled() && hasGuide()) return;
  say("building (tsc, esbuild, Eleventy)");
  if (isStale) runTogether([script("client-api.js")]);
  runTogether([
    ...(isStale ? [compiler(root), compiler(join(root, "src", "apps", "dashboard"))] : []),
    ...(isStale || !isBundled() ? [script("page.js"), script("client.js")] : []),
    ...(hasGuide() ? [] : [script("guide/build.js")]),
  ]);
  if (isStale) writeFileSync(buildStamp, "");
  // The bundle is built last, because its stamp shows that page, client and bundle are all up to date.
  if (!isBundled()) runTogether([script("bundle.js")]);
}

/** Returns the arguments with which Node.js runs a script of this folder. */
function script(name) {
  return [join(root, "scripts", name)];
}

/** Returns the arguments with which Node.js compiles a project. One core is left for the steps that run meanwhile. */
function compiler(project) {
  const checkers = Math.max(1, Math.min(4, availableParallelism() - 1));
  return [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", project, "--checkers", `${checkers}`];
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

/** Returns true if the bundle is newer than the build. bundle.js writes the stamp, also when it is run directly. */
function isBundled() {
  return existsSync(bundleStamp) && statSync(bundleStamp).mtimeMs >= statSync(buildStamp).mtimeMs;
}

/**
 * Returns true if the guide is up to date. The search entry is checked because it is compressed last, so an
 * interrupted build does not have it.
 */
function hasGuide() {
  const entry = join(guideFolder, "pagefind", "pagefind-entry.json.br");
  return (
    existsSync(entry) &&
    statSync(entry).mtimeMs >=
      newestIn([join(root, "docs"), join(root, "scripts", "guide")], /\.(?:md|png|css|js)$/)
  );
}

/** Prints a message on standard error, so that standard output contains only the command's output. */
export function say(what) {
  process.stderr.write(`hone: ${what}\n`);
}

/** Runs Node.js with each of these lists of arguments at the same time. Throws if one of them fails. */
function runTogether(steps) {
  run(process.execPath, [join(root, "scripts", "run-together.js"), JSON.stringify(steps)], {});
}

function run(command, parameters, environment) {
  const result = spawnSync(command, parameters, {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...environment },
    // On Windows, npm is a batch file, which only a shell can start.
    shell: process.platform === "win32" && command === "npm",
  });
  if (result.status !== 0) {
    const reason = result.error ? `: ${result.error.message}` : "";
    throw new Error(`${command} ${parameters[0]} failed${reason}`);
  }
}

function newestChange() {
  const folders = sourceFolders.map((folder) => join(root, folder));
  return Math.max(statSync(join(root, "tsconfig.json")).mtimeMs, newestIn(folders, /\.(tsx?|css|html)$/));
}

/** Returns the latest modification time of files whose names match, and of the folders that contain them. */
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
