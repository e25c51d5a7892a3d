// One process of several at a time, across a killed one: a lock in a folder. Whoever holds it has a folder of that name with
// one file in it, which says who. It comes into place whole, by a rename, which fails where a folder with a file is; and
// what a dead holder left is taken away under its own name, which no later holder has, and gives way to a rename then.
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
 * Does the work when no other process does any under this lock, and returns what it gives. Blocks while it waits.
 *
 * @param lock a path whose folder is made where it is missing
 * @param work synchronous; the lock is free again when it returns, throws, or its process dies
 * @param options.deadlineMs the longest wait; then it throws
 * @param options.onWait called once, with words for whom it waits for, where it has to
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
    // What Windows says of a folder that is there.
    if (error.code === "EPERM" && existsSync(lock)) return false;
    throw error;
  }
}

/** Who holds it, in words; null where nobody does, or a process did that is gone, whose hold is ended. */
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
