// A lock between processes that is released even if its holder is killed. The lock is a folder with one file, which
// names the holder; renaming the folder into place fails if a folder with a file is already there. A dead holder's file
// has a unique name, so removing it never affects a later holder.
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
 * Runs `work` while no other process runs anything under the same lock, and returns its result. Blocks while it waits.
 *
 * @param lock path of the lock; its parent folder is created if missing
 * @param work synchronous function; the lock is released when it returns or throws, or when this process dies
 * @param options.deadlineMs maximum time to wait, after which an error is thrown
 * @param options.onWait called once with a description of the holder if the call has to wait
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

/** Tries to take the lock; returns false if another process has it. */
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
    // Windows reports this error if the folder exists.
    if (error.code === "EPERM" && existsSync(lock)) return false;
    throw error;
  }
}

/**
 * Describes the holder of the lock. Returns null if the lock is free, or if its holder was dead and the lock has been
 * released.
 */
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
    // The holder has released the lock meanwhile.
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
    // Another process already has the lock, so the folder is not empty.
  }
}
