// Writes standard output and standard error without ever blocking this process: not on a pipe whose reader pauses, a
// stopped terminal, or a file on a stalled disk. Commands that print for a user do not use this module, because they
// may wait for the reader.
import { constants, fstatSync, openSync, write, writeSync } from "node:fs";
import { isatty } from "node:tty";
import { BoundedOutput, type OutputChannel } from "./bounded-output.ts";

/** Maximum size of the buffer in bytes, which is enough for about 2,000 log lines. */
const bytesMax = 512 * 1024;
/** First and longest pause in milliseconds before another attempt to write to a full pipe or terminal. */
const [retryMs, retryMsMax] = [1, 50];

type Descriptor = 1 | 2;
type NoticeOf = (missingCount: number) => string;

interface Stream {
  readonly output: BoundedOutput;
  noticeOf: NoticeOf;
}

const streams = new Map<Descriptor, Stream>();

/** Returns standard output (1) or standard error (2) of this process. */
export function standardStream(descriptor: Descriptor): BoundedOutput {
  return streamOf(descriptor).output;
}

/** Sets the function that returns the notice to write in place of dropped lines. */
export function announceMissingLines(descriptor: Descriptor, noticeOf: NoticeOf): void {
  streamOf(descriptor).noticeOf = noticeOf;
}

/** Resolves once everything is written, but no later than the deadline, because there may be no reader. */
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
  /**
   * When the process exits, writes as much of a text as possible without waiting. Null if the kind of output does not
   * allow this.
   */
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
    // If the descriptor is closed, each write fails, and its lines count as dropped.
    return "file";
  }
}

/**
 * Opens a pipe or terminal again for writes that do not block. The inherited descriptor cannot be switched to such
 * writes: other programs that use it would be affected, and could switch it back. Returns null if opening is
 * impossible: only Linux supports it, and only for the owner.
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

/**
 * Returns a channel that writes synchronously while there is room, so that even a process that crashes has written its
 * last line.
 */
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
          // The timer must not keep the process alive, because there may be no reader.
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

/**
 * Returns a channel that writes through Node's stream. Node polls sockets and pipes, and uses the console API on
 * Windows.
 */
function throughNode(descriptor: Descriptor): DescriptorChannel {
  const stream = descriptor === 1 ? process.stdout : process.stderr;
  // The error is ignored here, because each failed write reports it to its own callback.
  stream.on("error", () => undefined);
  const channel: OutputChannel = {
    write: (text, done) => void stream.write(text, (error) => done(error ?? null)),
  };
  return { channel, writeLast: (text) => void stream.write(text) };
}

/**
 * Returns a channel that writes on a thread of Node's pool. Polling cannot help with a file, which is always reported
 * as ready, even if its disk stalls.
 */
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
    // The pipe is full or has no reader. The text is lost, because nothing may delay the end of the process.
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EAGAIN" || error.code === "EBUSY");
}
