// A lock between processes that survives a kill: its holder has a folder with one file that names the holder. The
// folder is renamed into place whole, which fails if a folder with a file is there. A dead holder's file is removed
// under its unique name, so a later holder is never affected.
import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";

const pollMs = 100;

/**
 * Runs the work while no other process runs any under this lock, and returns its result. Blocks while it waits.
 *
 * @param lock a path; its parent folder is created if missing
 * @param work synchronous; the lock is released when it returns, throws, or its process dies
 * @param options.deadlineMs the longest wait, after which it throws
 * @param options.onWait called once with a description of the holder, if it has to wait
 */
export function takeTurns(lock, work, { deadlineMs, onWait }) {
  mkdirSync(dirname(lock), { recursive: true });
  const name = randomUUID();
  const endMs = performance.now() + deadlineMs;
  let hasReported = false;
  while (!take(lock, name)) {
    const holder = holderOf(lock);
    if (holder === null) continue;
    if (performance.now() > endMs) {
      const seconds = Math.round(deadlineMs / 1000);
      throw new Error(
        `${holder} has not finished within ${seconds} s; if it hangs, end it, or remove ${lock}.`,
      );
    }
    if (!hasReported) onWait(holder);
    hasReported = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs);
  }
  try {
    return work();
  } finally {
    leave(lock, name);
  }
}

/** False where another holds it. */
function take(lock, name) {
  const own = `${lock}.${name}`;
  mkdirSync(own);
  writeFileSync(join(own, name), JSON.stringify({ id: process.pid, host: hostname() }));
  try {
    renameSync(own, lock);
    return true;
  } catch (error) {
    rmSync(own, { recursive: true });
    if (["ENOTEMPTY", "EEXIST"].includes(error.code)) return false;
    // Error of Windows for an existing folder.
    if (error.code === "EPERM" && existsSync(lock)) return false;
    throw error;
  }
}

/** Describes the holder; null if there is none, or if the holder is dead and its lock was removed. */
function holderOf(lock) {
  try {
    const [name] = readdirSync(lock);
    if (name === undefined) return null;
    const { id, host } = JSON.parse(readFileSync(join(lock, name), "utf8"));
    if (host !== hostname()) return `process ${id} on ${host}`;
    if (isAlive(id)) return `process ${id}`;
    leave(lock, name);
    return null;
  } catch (error) {
    // Its holder left it meanwhile.
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

function isAlive(id) {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return error.code !== "ESRCH";
  }
}

function leave(lock, name) {
  rmSync(join(lock, name), { force: true });
  try {
    rmdirSync(lock);
  } catch {
    // Another has it by now, whose folder is not empty.
  }
}
