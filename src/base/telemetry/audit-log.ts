// The audit log: a JSON object per line that says who changed what, in a file that is rotated by size. Node's thread
// pool writes and syncs, so that the main thread never waits for the disk; lines that arrive during a write share the
// next write and fsync. While the disk stalls, lines wait in a queue; if it is full, further lines are dropped and
// counted.
import { open, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { systemClock, type Clock } from "../domain/clock.ts";
import { serviceOf, type Service } from "../domain/lifecycle.ts";
import { fullDiskError } from "../domain/transient-errors/full-disk.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { Logger } from "./logger.ts";

export interface AuditEntry {
  readonly time: Date;
  /** Id of the key that the client sent; null if it sent no key, or an unknown one. */
  readonly keyId: string | null;
  readonly entity: string | null;
  /** Address of the client; null for an event that began on this machine. */
  readonly address: string | null;
  /** Action that was requested, such as `DELETE /v1/preview/models/7` or `key-revoked`. */
  readonly action: string;
  /** Outcome of the action: `done`, or the status of the answer. */
  readonly outcome: string;
  readonly requestId: string | null;
  /** Number of similar requests that the line represents; absent if it represents one. */
  readonly count?: number;
}

export interface AuditLog {
  /** Queues a line and returns at once. Never throws. */
  record(entry: AuditEntry): void;
  /**
   * Adds a line. Resolves once it is on disk.
   *
   * @throws ServiceError `unavailable` if the disk fails or does not complete a write within five seconds; immediately
   * while {@link fault} is not null. The line stays in the queue and is written when possible
   */
  recordDurably(entry: AuditEntry): Promise<void>;
  /** Returns the error for requests that need a durable line; null while the log can be written. */
  fault(): ServiceError | null;
}

export interface AuditFile {
  readonly path: string;
  /** Size in bytes at which the file is rotated. */
  readonly bytesMax: number;
  /** Number of full files that are kept, named `<path>.1` (the newest), `<path>.2` and so on. */
  readonly keptCount: number;
}

/** Maximum number of lines that wait to be written. */
const queueLengthMax = 10_000;
/** Number of bytes to read from the beginning of a file to get the time of its first line. */
const beginningBytes = 64;

/** Pause in milliseconds between two writes if no request waits for them, so that several lines share a write. */
const gatherMs = 20;
/** Pause in milliseconds after a failed write. */
const retryMs = 1000;
/**
 * Maximum duration in milliseconds of a write, after which waiting requests are refused. Also the maximum duration of a
 * stop.
 */
const deadlineMs = 5000;

interface QueuedLine {
  readonly entry: AuditEntry;
  /**
   * Called with null when the line is on disk, or with the reason why it cannot be written; absent if no caller waits
   * for the line. Only the first call has an effect.
   */
  readonly settle?: (failure: unknown) => void;
}

/**
 * Creates the log, which writes until it is stopped; `stop` resolves when every line is written, or after a last
 * attempt that fails or takes too long. Other processes may append to the same file.
 *
 * After a failed write, lines are written again, so that a disk fault may cause the same line twice.
 */
export function createAuditLog(
  file: AuditFile,
  logger: Logger,
  clock: Clock = systemClock,
): AuditLog & Service {
  let isStopping = false;
  let queue: QueuedLine[] = [];
  let lostCount = 0;
  let writing: Promise<void> | null = null;
  /** Aborted to end the pause between two writes early. */
  let pause = new AbortController();
  /**
   * Reason why the log cannot be written: the last write failed, or the current one takes too long. Null if the
   * log can be written.
   */
  let failure: Error | null = null;

  const fail = (error: unknown, lines: readonly QueuedLine[]): void => {
    if (failure === null) logger.error({ err: error }, "the audit log cannot be written");
    failure = error instanceof Error ? error : new Error(String(error));
    for (const { settle } of [...lines, ...queue]) settle?.(failure);
  };
  const writeQueue = async (): Promise<void> => {
    const lines = queue;
    const lostBefore = lostCount;
    queue = [];
    lostCount = 0;
    const ended = new AbortController();
    clock.sleep(deadlineMs, ended).then(
      () => fail(new Error(`The disk has not answered for ${deadlineMs} ms.`), lines),
      () => undefined,
    );
    try {
      const entries = lines.map(({ entry }) => entry);
      const isSynced = lines.some(({ settle }) => settle !== undefined);
      await appendEntries(file, entries, { lostCount: lostBefore, isSynced });
      if (failure !== null) logger.warn({}, "the audit log can be written again");
      failure = null;
      for (const { settle } of lines) settle?.(null);
    } catch (error) {
      fail(error, lines);
      queue = [...lines, ...queue];
      lostCount += lostBefore + queue.splice(queueLengthMax).length;
    } finally {
      ended.abort();
    }
  };
  const writeAll = async (): Promise<void> => {
    while (queue.length > 0) {
      await writeQueue();
      if (isStopping && failure !== null) break;
      const isAwaited = failure === null && queue.some(({ settle }) => settle !== undefined);
      if (isStopping || isAwaited) continue;
      pause = new AbortController();
      // If the pause is ended early, the sleep rejects, which is no error.
      await clock.sleep(failure === null ? gatherMs : retryMs, pause).catch(() => undefined);
    }
    writing = null;
  };
  const add = (line: QueuedLine): void => {
    if (queue.length < queueLengthMax) queue.push(line);
    else {
      lostCount += 1;
      line.settle?.(failure ?? new Error(`${queueLengthMax} lines wait for the disk already.`));
    }
    writing ??= writeAll();
  };
  return {
    record: (entry) => add({ entry }),
    recordDurably: (entry) =>
      new Promise((resolve, reject) => {
        const settle = (error: unknown): void => (error === null ? resolve() : reject(unwritable(error)));
        if (failure !== null) settle(failure);
        else pause.abort();
        add({ entry, settle });
      }),
    fault: () => (failure === null ? null : unwritable(failure)),
    ...serviceOf("audit log", {
      stop: async () => {
        isStopping = true;
        pause.abort();
        const ended = new AbortController();
        const tooLate = clock.sleep(deadlineMs, ended).then(
          () => true,
          () => false,
        );
        const isLate = await Promise.race([tooLate, (writing ?? Promise.resolve()).then(() => false)]);
        ended.abort();
        if (isLate || queue.length > 0)
          logger.error({ err: failure }, "the last lines of the audit log may be lost");
      },
    }),
  };
}

function unwritable(cause: unknown): ServiceError {
  const message =
    "The audit log of the server cannot be written, and the server changes nothing without a line in it. " +
    "Its own log says why. Try again once the disk of its data folder accepts writes.";
  const failing = { code: "unavailable", obstacle: "failing-audit-log", message, cause } as const;
  return fullDiskError(cause) ?? new ServiceError(failing);
}

interface AppendOptions {
  /** Number of entries that were lost before these entries. */
  readonly lostCount?: number;
  /** False to skip the fsync. The lines then survive a crash of the process, but not one of the operating system. */
  readonly isSynced?: boolean;
}

/** Appends entries to the file, which is first rotated if it is full. Resolves once the entries are on disk. */
export async function appendEntries(
  file: AuditFile,
  entries: readonly AuditEntry[],
  { lostCount = 0, isSynced = true }: AppendOptions = {},
): Promise<void> {
  const text = entries.map((entry) => `${JSON.stringify(lineOf(entry))}\n`).join("");
  const lost = lostCount === 0 ? "" : `${JSON.stringify({ action: "entries-lost", count: lostCount })}\n`;
  await makeRoom(file, Buffer.byteLength(lost + text));
  // Each write opens the file again, because another process may have rotated it.
  const handle = await open(file.path, "a+", 0o600);
  try {
    const { size } = await handle.stat();
    const lineEnd = (await endsMidLine(handle, size)) ? "\n" : "";
    await handle.appendFile(lineEnd + lost + text);
    if (isSynced) await handle.datasync();
    if (size === 0) await syncFolder(dirname(file.path));
  } finally {
    await handle.close();
  }
}

/** True if the file ends in an incomplete line, which a full disk or a killed process may leave. */
async function endsMidLine(handle: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return bytesRead === 1 && buffer.toString("latin1") !== "\n";
}

/**
 * Syncs a folder, so that the name of a new file survives a power loss. Windows has no such call, but protects names by
 * itself.
 */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
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
 * Deletes full files whose last line is older than `before`, and rotates the current file if its first line is older. A
 * line is therefore deleted after it reaches that age, but before it reaches twice that age.
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

/** Returns the time of a file's first line; null if there is no line. */
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
