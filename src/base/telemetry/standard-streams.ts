// Standard output and standard error of this process, written without ever blocking it: a pipe whose reader pauses, a
// terminal that was stopped and a file on a stalled disk hold nothing up. What commands print for people at a terminal does
// not go through here: it may wait for its reader.
import { constants, fstatSync, openSync, write, writeSync } from "node:fs";
import { isatty } from "node:tty";
import { BoundedOutput, type OutputChannel } from "./bounded-output.ts";

/** About 2,000 log lines. */
const bytesMax = 512 * 1024;
/** How soon and how late a full pipe or terminal is tried again. */
const [retryMs, retryMsMax] = [1, 50];

type Descriptor = 1 | 2;
type NoticeOf = (missingCount: number) => string;

interface Stream {
  readonly output: BoundedOutput;
  noticeOf: NoticeOf;
}

const streams = new Map<Descriptor, Stream>();

/** Returns standard output, or standard error, of this process. */
export function standardStream(descriptor: Descriptor): BoundedOutput {
  return streamOf(descriptor).output;
}

/** Sets the line that stands in place of dropped lines. */
export function announceMissingLines(descriptor: Descriptor, noticeOf: NoticeOf): void {
  streamOf(descriptor).noticeOf = noticeOf;
}

/** Waits until everything is written, at most until the deadline: nobody may be reading. */
export async function flushStandardStreams(deadlineMs: number): Promise<void> {
  await Promise.all([...streams.values()].map(({ output }) => output.flush(deadlineMs)));
}

function streamOf(descriptor: Descriptor): Stream {
  const known = streams.get(descriptor);
  if (known !== undefined) return known;
  const { channel, writeLast } = channelTo(descriptor);
  const output = new BoundedOutput(channel, { bytesMax, noticeOf: (count) => stream.noticeOf(count) });
  const stream: Stream = { output, noticeOf: (count) => `(${count} lines are missing here)\n` };
  streams.set(descriptor, stream);
  if (writeLast !== null)
    process.on("exit", () => {
      const text = output.takeWaiting();
      if (text !== "") writeLast(text);
    });
  return stream;
}

interface DescriptorChannel {
  readonly channel: OutputChannel;
  /** Writes as much as can be written at once when the process exits; null if nothing can. */
  readonly writeLast: ((text: string) => void) | null;
}

function channelTo(descriptor: Descriptor): DescriptorChannel {
  const kind = kindOf(descriptor);
  if (kind === "pipe" || kind === "terminal") {
    const own = reopened(descriptor);
    if (own !== null) return nonBlocking(own);
  }
  const hasPolledPipes = process.platform !== "win32";
  if (kind === "socket" || (kind === "pipe" && hasPolledPipes) || (kind === "terminal" && !hasPolledPipes))
    return throughNode(descriptor);
  return onThreadPool(descriptor);
}

function kindOf(descriptor: Descriptor): "file" | "pipe" | "socket" | "terminal" {
  if (isatty(descriptor)) return "terminal";
  try {
    const found = fstatSync(descriptor);
    if (found.isFIFO()) return "pipe";
    return found.isSocket() ? "socket" : "file";
  } catch {
    // The descriptor is closed: each write fails, and its lines count as missing.
    return "file";
  }
}

/**
 * Opens a pipe or terminal once more, for non-blocking writes: the flag is the opened file's, and on the one that this
 * process was given it would change the writes of other programs, which could also take it away. Null if that is not
 * possible: only Linux can, and only the owner may.
 */
function reopened(descriptor: Descriptor): number | null {
  if (process.platform !== "linux") return null;
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return openSync(`/proc/self/fd/${descriptor}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    return null;
  }
}

/** Writes at once where there is room, so that even a process that crashes has written its last line. */
function nonBlocking(descriptor: number): DescriptorChannel {
  const channel: OutputChannel = {
    write: (text, done) => {
      let left = Buffer.from(text);
      let pauseMs = retryMs;
      const attempt = (): void => {
        try {
          while (left.length > 0) {
            const count = writeSync(descriptor, left);
            left = left.subarray(count);
            pauseMs = retryMs;
          }
        } catch (error) {
          if (!isFull(error)) return done(error instanceof Error ? error : new Error(String(error)));
          // Without a reader nothing is to keep this process alive.
          setTimeout(attempt, pauseMs).unref();
          pauseMs = Math.min(2 * pauseMs, retryMsMax);
          return;
        }
        done(null);
      };
      attempt();
    },
  };
  return { channel, writeLast: (text) => writeUntilFull(descriptor, text) };
}

/** Through Node's stream, which polls sockets and pipes, and asks Windows' console. */
function throughNode(descriptor: Descriptor): DescriptorChannel {
  const stream = descriptor === 1 ? process.stdout : process.stderr;
  // Each failed write has its own callback.
  stream.on("error", () => undefined);
  const channel: OutputChannel = {
    write: (text, done) => void stream.write(text, (error) => done(error ?? null)),
  };
  return { channel, writeLast: (text) => void stream.write(text) };
}

/** On a thread of Node's pool: a file is always ready for the poll, whatever its disk does. */
function onThreadPool(descriptor: Descriptor): DescriptorChannel {
  const channel: OutputChannel = {
    write: (text, done) => {
      const attempt = (left: Buffer): void =>
        write(descriptor, left, (error, count) => {
          if (error !== null && !isFull(error)) done(error);
          else if (error !== null) setTimeout(attempt, retryMsMax, left).unref();
          else if (count < left.length) attempt(left.subarray(count));
          else done(null);
        });
      attempt(Buffer.from(text));
    },
  };
  return { channel, writeLast: (text) => writeUntilFull(descriptor, text) };
}

function writeUntilFull(descriptor: number, text: string): void {
  let left = Buffer.from(text);
  try {
    while (left.length > 0) left = left.subarray(writeSync(descriptor, left));
  } catch {
    // Full, or without a reader: the process ends, and nothing may hold it up.
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EAGAIN" || error.code === "EBUSY");
}
