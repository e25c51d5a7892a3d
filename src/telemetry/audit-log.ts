// Who changed what: one JSON object a line, in a file that is rotated by its size. Written behind its callers, so that no
// request waits for the disk; what does not fit in the queue, or cannot be written, is counted in the log itself.
import { appendFile, open, rename, rm, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { serviceOf, type Service } from "../domain/lifecycle.ts";
import type { Logger } from "./logger.ts";

export interface AuditEntry {
  readonly time: Date;
  /** Null where no key was presented, or none that is known. */
  readonly keyId: string | null;
  readonly entity: string | null;
  /** Of the client; null for what happened on this machine. */
  readonly address: string | null;
  /** What was asked for: `DELETE /v1/preview/models/7`, `key-revoked`. */
  readonly action: string;
  /** `done`, or the status of the answer. */
  readonly outcome: string;
  readonly requestId: string | null;
  /** How many requests like this one the line stands for; absent for one. */
  readonly count?: number;
}

export interface AuditLog {
  /** Never throws and never waits. */
  record(entry: AuditEntry): void;
}

export interface AuditFile {
  readonly path: string;
  /** Beyond it another file is begun. */
  readonly bytesMax: number;
  /** Full files that are kept, as `<path>.1` (the newest) and so on. */
  readonly keptCount: number;
}

/** Lines that may wait for the disk. */
const queueLengthMax = 10_000;
/** Of a file, what has the time of its first line. */
const beginningBytes = 64;

/** Between two writes: lines that come close together go together. */
const pauseMs = 20;

/** Writes until it is stopped; `stop` resolves when all is written. Other processes may append to the same file. */
export function createAuditLog(file: AuditFile, logger: Logger): AuditLog & Service {
  let waiting: AuditEntry[] = [];
  let lostCount = 0;
  let writing: Promise<void> | null = null;

  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const entries = waiting;
      const lostBefore = lostCount;
      waiting = [];
      lostCount = 0;
      try {
        await appendEntries(file, entries, lostBefore);
      } catch (error) {
        lostCount += lostBefore + entries.length;
        logger.error({ err: error, lostCount }, "the audit log cannot be written");
      }
      await sleep(pauseMs);
    }
    writing = null;
  };
  return {
    record: (entry) => {
      if (waiting.length >= queueLengthMax) lostCount += 1;
      else waiting.push(entry);
      writing ??= writeAll();
    },
    ...serviceOf("audit log", { stop: async () => void (await writing) }),
  };
}

/** Appends to the file, after it has made room. */
export async function appendEntries(
  file: AuditFile,
  entries: readonly AuditEntry[],
  lostCount = 0,
): Promise<void> {
  const text = entries.map((entry) => `${JSON.stringify(lineOf(entry))}\n`).join("");
  const lost = lostCount === 0 ? "" : `${JSON.stringify({ action: "entries-lost", count: lostCount })}\n`;
  await makeRoom(file, Buffer.byteLength(lost + text));
  await appendFile(file.path, lost + text, { mode: 0o600 });
}

function lineOf({ time, keyId, requestId, ...rest }: AuditEntry): object {
  return { time: time.toISOString(), key_id: keyId, ...rest, request_id: requestId };
}

async function makeRoom(file: AuditFile, addedBytes: number): Promise<void> {
  const { path, bytesMax } = file;
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  );
  if (size === 0 || size + addedBytes <= bytesMax) return;
  await rotate(file);
}

async function rotate({ path, keptCount }: AuditFile): Promise<void> {
  await rm(`${path}.${keptCount}`, { force: true });
  for (let number = keptCount; number >= 1; number--) {
    const from = number === 1 ? path : `${path}.${number - 1}`;
    await rename(from, `${path}.${number}`).catch(ignoreMissing);
  }
}

/**
 * Removes full files whose last line is from before a time, and begins another file where the first line of the present one is:
 * so a line goes once it is as old, and at the latest once it is twice as old.
 */
export async function trimAudit(file: AuditFile, before: Date, now: Date): Promise<void> {
  const { path, keptCount } = file;
  for (let number = 1; number <= keptCount; number++) {
    const full = `${path}.${number}`;
    const { mtime } = await stat(full).catch(() => ({ mtime: now }));
    if (mtime < before) await rm(full, { force: true });
  }
  const first = await firstTime(path);
  if (first !== null && first < before) await rotate(file);
}

/** Of the first line; null where there is none, or it has no time. */
async function firstTime(path: string): Promise<Date | null> {
  const handle = await open(path).catch(() => null);
  if (handle === null) return null;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(beginningBytes), 0, beginningBytes, 0);
    const match = /^\{"time":"([^"]+)"/.exec(buffer.toString("utf8", 0, bytesRead));
    return match && new Date(match[1]);
  } finally {
    await handle.close();
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
