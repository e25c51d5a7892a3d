// `npm test`: sets up the checkout, then runs all tests; names after `--` select the files whose path contains one of
// them.
//
// * The test files of one area of src/ (such as src/train) share a process, as do those of one folder below test/ or
//   tools/, because starting a process and loading its imports takes longer than most of their tests. Files that use
//   a server with the same flags share a process too, and share the server if its flags have a name.
// * Other files have a separate process: they start servers, or test their process.
// * A test of a shared process that does not end within its limit ends the process (scripts/test-limit.js).
// * The processes that take longest start first, so that at the end both cores still have work.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { basename, join, sep } from "node:path";
import { run } from "node:test";
import { spec as Spec } from "node:test/reporters";
import { chromiumCure, findChromium } from "./chromium.js";
import { emulatorCure, findEmulator } from "./emulator.js";
import { startPostgres } from "./postgres.js";
import { realModelFile, takeRealModel } from "./real-model.js";
import { root, say, setUp } from "./setup.js";
import { built, environment, testFiles, wantPostgres } from "./test-files.js";

setUp();
const wanted = process.argv.slice(2);
const files = testFiles(wanted);
if (files.length === 0) {
  say(`no path of a test file contains ${wanted.join(" or ")}`);
  process.exit(1);
}
const wantsRealModel = files.includes(join("test", "real-model.test.ts"));
if (wantsRealModel) takeRealModel(say);
say(`running ${files.length} test files`);
/** Rooms whose test files take as long as all others of their area. Each gets a separate process. */
const apart = new Set(
  [
    "api/http",
    "apps/cli",
    "apps/client",
    "apps/server",
    "inference/chat",
    "inference/engine",
    "inference/models",
    "lib/constraints",
    "store/database",
    "train/trainer",
  ].map((room) => room.replace("/", sep)),
);
const [together, alone] = [new Map(), []];
for (const file of files) {
  const group = groupOf(file);
  if (group === null) alone.push(built(file));
  else together.set(group, [...(together.get(group) ?? []), file]);
}
/**
 * Names of the processes that take longest, in descending order. The order affects only the total time, so the list
 * need not be exact.
 */
const longest = [
  "served-seenModel",
  "trainer",
  "server",
  "many-servers",
  "database",
  "http",
  "engine",
  "served-usual",
  "cli",
  "docs-blocks",
  "served-toolModel",
  "passed-prompts",
  "models-on-demand",
  "test-browser",
  "client",
  "test-api",
  "inference",
  "apps",
  "constraints",
  "chat",
  "models",
  "reinforcement-api",
  "real-model",
  "full-disk",
  "failed-models",
  "exported-models",
  "served-model",
  "base-weights",
  "learning",
  "resilience",
  "store",
  "mcp-tools",
  "train",
  "base",
];
/** Time limit of a file, which then counts as failed. No file normally takes nearly as long. */
const fileLimitMs = 15 * 60_000;
/** Folder for temporary files, which is removed after the tests with all files that stopped tests leave behind. */
const temporary = mkdtempSync(join(temporaryParent(), "hone-tests-"));
process.once("exit", () => {
  try {
    rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    say(`${temporary} could not be removed (${error.code})`);
  }
});
const wantsPostgres = wantPostgres(files);
const postgres = wantsPostgres ? startPostgres(say) : null;
const chromium = findChromium();
const emulator = findEmulator();
process.chdir(root);
Object.assign(process.env, environment, {
  TMPDIR: temporary,
  TEST_MODEL: realModelFile() ?? "off",
  TEST_POSTGRES: postgres ?? "off",
  CHROMIUM: chromium ?? "",
  EMULATOR: emulator ?? "",
});
// Extra certificates, which each test process would parse (test-files.js).
delete process.env.NODE_EXTRA_CA_CERTS;
const results = run({
  files: longestFirst([...writeEntries(), ...alone]),
  // Two more processes than cores, because tests sometimes wait. With four more, time limits end work early.
  concurrency: availableParallelism() + 2,
  timeout: fileLimitMs,
});
let hasFailed = false;
results.on("test:fail", ({ todo }) => (hasFailed ||= !todo));
const report = results.compose(new Spec());
report.pipe(process.stdout);
await new Promise((resolve) => report.once("end", resolve));
if (wantsRealModel && realModelFile() === null)
  say("SKIPPED: the tests with a pretrained model, because its file is missing");
if (wantsPostgres && postgres === null)
  say("SKIPPED: the tests on PostgreSQL, because no server was started");
if (chromium === undefined && files.some((file) => file.startsWith(join("test", "browser"))))
  say(`SKIPPED: the tests of the dashboard, because no Chromium is installed. ${chromiumCure}`);
if (emulator === undefined && files.some((file) => file.startsWith(join("test", "emulated"))))
  say(`SKIPPED: the tests on emulated processors, because QEMU is not installed. ${emulatorCure}`);
if (environment.TEST_PACKAGE !== "on" && files.includes(join("test", "package.test.ts")))
  say("SKIPPED: the test that installs the npm package. Set TEST_PACKAGE=on to run it.");
process.exit(hasFailed ? 1 : 0);

/**
 * Returns a folder in memory if there is one with enough room, because tests wait for a disk at each stored record. The
 * folder must allow running programs, which some tests write.
 */
function temporaryParent() {
  const [inMemory, mounts, neededBytes] = ["/dev/shm", "/proc/self/mounts", 4 * 2 ** 30];
  if (process.env.TMPDIR !== undefined || !existsSync(inMemory) || !existsSync(mounts)) return tmpdir();
  const lines = readFileSync(mounts, "utf8")
    .split("\n")
    .map((line) => line.split(" "));
  const options = lines.findLast(([, place]) => place === inMemory)?.[3] ?? "noexec";
  const { bavail, bsize } = statfsSync(inMemory);
  return options.split(",").includes("noexec") || bavail * bsize < neededBytes ? tmpdir() : inMemory;
}

/** Returns the name of the shared process that runs the file; null if the file needs a separate process. */
function groupOf(file) {
  const text = readFileSync(join(root, file), "utf8");
  // These files need a process of their own: they measure the memory of the process, or define hooks that would run
  // before the tests of other files.
  if (/^before(Each)?\(|memoryUsage\(/m.test(text)) return null;
  const [top, folder, ...below] = file.split(sep);
  if (top === "src") return apart.has(join(folder, below[0])) ? below[0] : folder;
  const server = /\bserverOfFile\((?:\{\s*)?(?:flags: (\w+),?\s*)?(?:onStart|\}?\))/.exec(text);
  if (server) return `served-${server[1] ?? "usual"}`;
  // These files load the API and send it requests without a server process.
  if (top === "test" && /testing\/(fake|queue)-server\.ts"/.test(text)) return "test-api";
  return ["test", "tools"].includes(top) && below.length > 0 ? `${top}-${folder}` : null;
}

/** Sorts the modules of processes by the list of those that take longest; all others follow in their order. */
function longestFirst(modules) {
  const place = (module) => {
    const index = longest.indexOf(basename(module, ".test.js"));
    return index < 0 ? longest.length : index;
  };
  return modules.toSorted((one, other) => place(one) - place(other));
}

/** Writes, for each shared process, a module that imports its files. Returns the paths of these modules. */
function writeEntries() {
  const entries = join("dist", "folders");
  rmSync(join(root, entries), { recursive: true, force: true });
  mkdirSync(join(root, entries), { recursive: true });
  return [...together].map(([group, names]) => {
    const entry = join(entries, `${group}.test.js`);
    const imported = [join("scripts", "test-limit.js"), ...names.map(built)];
    const imports = imported.map((name) => `import ${JSON.stringify(join("..", "..", name))};\n`);
    writeFileSync(join(root, entry), imports.join("").replaceAll("\\\\", "/"));
    return entry;
  });
}
