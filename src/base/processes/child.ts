// A child process, as its parent sees it: the parent starts it with a deadline, sends it requests, supervises it and
// ends it. The child does not outlive the parent, and keeps the parent alive only while it loads, works or ends.
// Callers decide what its death means.
import { fork, type ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/service-error.ts";
import { forwardOutput } from "../telemetry/logger.ts";
import { toServiceError } from "./serialized-error.ts";
import { stderrTailLength, describeOutOfMemory, SilenceWatch } from "./child-health.ts";
import type { MessageToChild, MessageToParent, Protocol } from "./protocol.ts";

export interface ChildOptions<P extends Protocol> {
  /** Built module that the process runs. The module must call `serveParent`. */
  readonly module: URL;
  /** Name of the process in messages, such as `training process`. */
  readonly name: string;
  readonly load: P["load"];
  /** Hint for the choice among pre-started processes. One that was started with an equal hint is preferred. */
  readonly hint?: unknown;
  /** Last input that the child needs before it can work. It is sent as soon as it is available. */
  readonly supplement?: Promise<unknown>;
  readonly clock: Clock;
  /** Maximum time in milliseconds until the process is ready. */
  readonly startDeadlineMs: number;
  /** Maximum time in milliseconds that the child may be silent while it has work. After that, it is killed. */
  readonly silenceDeadlineMs: number;
  readonly onEvent: (event: P["event"]) => void;
}

/** A child process that has become ready to work. It may have ended since then. */
export interface Child<P extends Protocol> {
  /** Message that the child sent when it became ready. */
  readonly ready: P["ready"];
  /** Id of the process; null once it is gone. */
  readonly id: number | null;
  /**
   * Resolves when the process is gone, with a description of its end for messages, such as `was ended by SIGKILL`.
   * Never rejects.
   */
  readonly exited: Promise<string>;
  /** True if the process is known to have died because it ran out of memory. */
  readonly ranOutOfMemory: boolean;
  /** Sends a request to the child. Does nothing if the process is gone. */
  send(request: P["request"]): void;
  /**
   * Begins or ends a period of work. During such a period, the child must not be silent for too long, and it keeps this
   * process alive.
   */
  setWorking(isWorking: boolean): void;
  /** Asks the child to end, and kills it after the deadline. Resolves when it is gone. Idempotent. */
  stop(deadlineMs: number): Promise<void>;
  /** Kills the child at once. Resolves when it is gone. Idempotent. */
  kill(): Promise<void>;
}

interface AheadProcess {
  readonly process: ChildProcess;
  readonly hint: unknown;
}

/** Pre-started processes that nobody has adopted yet, by module. */
const ahead = new Map<string, AheadProcess[]>();

/**
 * Pre-starts a process, which a later call of {@link startChild} adopts. Until then, the process loads its module and
 * prepares for the hint, in parallel to this process. It does not keep this process alive, and does not outlive it.
 *
 * @returns the process, which the caller must not touch
 */
export function startAhead(module: URL, hint?: unknown): ChildProcess {
  const child = forked(module);
  if (hint !== undefined) child.send({ kind: "hint", hint }, () => undefined);
  // An error means that the process is gone. The code that adopts the process will notice this, so the error is ignored
  // here.
  child.on("error", () => undefined);
  keepParentAlive(child, false);
  ahead.set(module.href, [...(ahead.get(module.href) ?? []), { process: child, hint }]);
  return child;
}

/** Ends those pre-started processes of a module that nobody has adopted. */
export function endAhead(module: URL): void {
  for (const { process } of ahead.get(module.href) ?? []) process.kill("SIGKILL");
  ahead.delete(module.href);
}

/**
 * Returns a pre-started process that still runs, preferably one with an equal hint. If there is none, starts a new
 * process.
 */
function takenOrForked(module: URL, hint: unknown): ChildProcess {
  const waiting = ahead.get(module.href) ?? [];
  const own = waiting.findIndex((one) => isDeepStrictEqual(one.hint, hint));
  const [taken] = waiting.splice(Math.max(own, 0), 1);
  if (taken === undefined || !taken.process.connected) return forked(module);
  keepParentAlive(taken.process, true);
  return taken.process;
}

function forked(module: URL): ChildProcess {
  return fork(fileURLToPath(module), [], {
    serialization: "advanced",
    // The child must not inherit flags of this process, such as those of a test runner.
    execArgv: [],
    // This process reads standard output and standard error of the child, and forwards both to its own standard error.
    // If the child inherited this process's standard error, a slow reader could block the child.
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
}

/** Sets whether the child keeps this process alive. */
function keepParentAlive(child: ChildProcess, isKept: boolean): void {
  // Safe casts: the pipe of a child is a socket, although its type does not say so.
  const outputs = [child.stdout, child.stderr] as (Socket | null)[];
  for (const handle of [child, child.channel, ...outputs]) {
    if (isKept) handle?.ref();
    else handle?.unref();
  }
}

/**
 * Starts a process. Resolves when it is ready; if this function throws, the process is gone.
 *
 * @throws ServiceError from the child if it refuses its load, the error of the supplement, `unavailable` if the child
 * dies, `timeout` at the deadline; also the signal's reason if the signal aborts
 */
export async function startChild<P extends Protocol>(
  options: ChildOptions<P>,
  { signal }: { readonly signal: AbortSignal },
): Promise<Child<P>> {
  signal.throwIfAborted();
  const child = new ForkedChild(options);
  const over = new AbortController();
  try {
    await Promise.race([
      child.isReady,
      child.supplemented.then(() => child.isReady),
      child.exited.then((how) => Promise.reject(unavailable(`The ${options.name} ${how} while it started.`))),
      startDeadline(options, AbortSignal.any([over.signal, signal])),
    ]);
    child.setWorking(false);
    return child;
  } catch (error) {
    await child.kill();
    throw error;
  } finally {
    over.abort();
  }
}

class ForkedChild<P extends Protocol> implements Child<P> {
  readonly exited: Promise<string>;
  readonly isReady: Promise<void>;
  readonly supplemented: Promise<void>;
  readonly #options: ChildOptions<P>;
  readonly #process: ChildProcess;
  readonly #silence: SilenceWatch;
  #ready: { readonly answer: P["ready"] } | null = null;
  #isAlive = true;
  /** Reason why this process has killed the child; null if it has not. */
  #killedFor: string | null = null;
  #stopped: Promise<void> | null = null;
  /** Last text that the child wrote to standard error, where a failing process writes the reason. */
  #stderrTail = "";
  #ranOutOfMemory = false;

  constructor(options: ChildOptions<P>) {
    const { module, hint, clock, silenceDeadlineMs: deadlineMs } = options;
    this.#options = options;
    this.#process = takenOrForked(module, hint);
    forwardLines(this.#process.stdout);
    forwardLines(this.#process.stderr, (text) => {
      this.#stderrTail = `${this.#stderrTail}${text}`.slice(-stderrTailLength);
    });
    this.#silence = new SilenceWatch({
      clock,
      deadlineMs,
      onSilence: () => void this.#kill(`was silent for ${deadlineMs} ms while it had work, and was ended`),
    });
    this.exited = this.#exit();
    this.isReady = this.#listen();
    this.#post({ kind: "load", load: options.load });
    this.supplemented = this.#supplement(options);
  }

  get ready(): P["ready"] {
    if (this.#ready === null) throw new Error(`must hold: the ${this.#options.name} is ready`);
    return this.#ready.answer;
  }

  get ranOutOfMemory(): boolean {
    return this.#ranOutOfMemory;
  }

  get id(): number | null {
    return this.#isAlive ? (this.#process.pid ?? null) : null;
  }

  send(request: P["request"]): void {
    this.#post({ kind: "request", request });
  }

  setWorking(isWorking: boolean): void {
    this.#silence.setWorking(isWorking && this.#isAlive);
    keepParentAlive(this.#process, isWorking);
  }

  stop(deadlineMs: number): Promise<void> {
    this.#stopped ??= this.#stop(deadlineMs);
    return this.#stopped;
  }

  kill(): Promise<void> {
    return this.#kill(null);
  }

  async #exit(): Promise<string> {
    const how = await new Promise<string>((resolve) => {
      // The event `close` comes after the last message of the child; `exit` may come before it.
      this.#process.once("close", (code, signal) =>
        resolve(signal === null ? `ended with code ${code}` : `was ended by ${signal}`),
      );
      this.#process.on("error", (error) => {
        // Other errors are about messages that a dead process did not receive. The end of the process is reported
        // separately.
        if (this.#process.pid === undefined) resolve(`could not be started: ${error.message}`);
      });
    });
    this.#isAlive = false;
    this.#silence.setWorking(false);
    if (this.#killedFor !== null) return this.#killedFor;
    const lack = describeOutOfMemory(how, this.#stderrTail);
    this.#ranOutOfMemory = lack !== null;
    return lack ?? how;
  }

  async #supplement({ supplement }: ChildOptions<P>): Promise<void> {
    if (supplement !== undefined) this.#post({ kind: "supplement", supplement: await supplement });
  }

  /** Resolves when the child is ready. Rejects if the child refuses its load. */
  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#process.on("message", (message: MessageToParent<P>) => {
        this.#silence.hear();
        switch (message.kind) {
          case "ready":
            this.#ready = { answer: message.ready };
            return resolve();
          case "refused":
            return reject(toServiceError(message.failure));
          case "event":
            return this.#options.onEvent(message.event);
        }
      });
    });
  }

  async #stop(deadlineMs: number): Promise<void> {
    keepParentAlive(this.#process, true);
    this.#post({ kind: "stop" });
    const gone = new AbortController();
    const late = this.#options.clock.sleep(deadlineMs, { signal: gone.signal }).then(
      () => this.#kill(`did not end within ${deadlineMs} ms, and was ended`),
      // The sleep is aborted only when the process is gone, which is no error here.
      () => undefined,
    );
    await this.exited;
    gone.abort();
    await late;
  }

  async #kill(reason: string | null): Promise<void> {
    this.#killedFor ??= reason;
    keepParentAlive(this.#process, true);
    this.#process.kill("SIGKILL");
    await this.exited;
  }

  #post(message: MessageToChild<P>): void {
    // If sending fails, the process has just died. Its end is reported separately.
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }
}

/** Maximum number of characters of an unfinished line that are held back. */
const lineLengthMax = 64 * 1024;

/** Writes the lines of a child's output to this process's log. The log never blocks. */
function forwardLines(from: Readable | null, onText: (text: string) => void = () => undefined): void {
  const decoder = new StringDecoder("utf8");
  let begun = "";
  from?.on("data", (bytes: Buffer) => {
    const text = decoder.write(bytes);
    onText(text);
    begun += text;
    const end = begun.length > lineLengthMax ? begun.length : begun.lastIndexOf("\n") + 1;
    if (end === 0) return;
    forwardOutput(begun.slice(0, end));
    begun = begun.slice(end);
  });
  from?.on("end", () => {
    if (begun !== "") forwardOutput(`${begun}\n`);
  });
}

async function startDeadline<P extends Protocol>(
  { name, clock, startDeadlineMs }: ChildOptions<P>,
  signal: AbortSignal,
): Promise<never> {
  await clock.sleep(startDeadlineMs, { signal });
  const message = `The ${name} was not ready within ${startDeadlineMs} ms.`;
  throw new ServiceError({ code: "timeout", message });
}

function unavailable(message: string): ServiceError {
  return new ServiceError({ code: "unavailable", message });
}
