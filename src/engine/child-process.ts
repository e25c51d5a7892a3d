// One life of the engine's process, as its parent sees it: started with a deadline, spoken to, ended. What follows from
// a death is decided elsewhere.
import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { ChildMessage, LoadedModel, ParentMessage } from "./child-protocol.ts";

type NewsMessage = ChildMessage & { kind: "news" };

export interface LaunchOptions {
  readonly load: ParentMessage & { kind: "load" };
  readonly clock: Clock;
  readonly onNews: (message: NewsMessage) => void;
  /** Called once, also when it was asked to end; `how` is for people. */
  readonly onExit: (how: string) => void;
  readonly signal: AbortSignal;
}

/** A process that has loaded its model. */
export interface EngineProcess {
  readonly model: LoadedModel;
  readonly id: number;
  send(message: ParentMessage): void;
  kill(): void;
  /** Asks it to end, and kills it after the deadline; resolves when it is gone. */
  end(deadlineMs: number): Promise<void>;
}

/**
 * Starts the process; resolves when it is ready.
 *
 * @throws ServiceError when the model is refused (with the refusal's own code), the process dies, the deadline passes
 *   (`timeout`) or the signal aborts; the process is gone then
 */
export async function launchEngineProcess(options: LaunchOptions): Promise<EngineProcess> {
  const { load, clock, signal } = options;
  const child = fork(fileURLToPath(new URL("./child-main.js", import.meta.url)), [], {
    serialization: "advanced",
    // Flags of this process, such as a test runner's, are not the child's; standard output stays the command's own.
    execArgv: [],
    stdio: ["ignore", 2, 2, "ipc"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const deadline = new AbortController();
  try {
    const model = await Promise.race([
      readiness(child, options),
      startDeadline(clock, load.settings.startDeadlineMs, AbortSignal.any([deadline.signal, signal])),
    ]);
    return {
      model,
      id: child.pid ?? 0,
      send: (message) => sendTo(child, message),
      kill: () => child.kill("SIGKILL"),
      end: async (deadlineMs) => {
        sendTo(child, { kind: "stop" });
        const waiting = new AbortController();
        const killed = clock.sleep(deadlineMs, { signal: waiting.signal }).then(
          () => child.kill("SIGKILL"),
          () => false,
        );
        await exited;
        waiting.abort();
        await killed;
      },
    };
  } catch (error) {
    child.kill("SIGKILL");
    // A process that could not even be started has no exit.
    if (child.pid !== undefined) await exited;
    throw error;
  } finally {
    deadline.abort();
  }
}

function readiness(child: ChildProcess, options: LaunchOptions): Promise<LoadedModel> {
  return new Promise((resolve, reject) => {
    let isReady = false;
    child.on("message", (message: ChildMessage) => {
      if (message.kind === "news") options.onNews(message);
      else if (message.kind === "ready") {
        isReady = true;
        resolve(message);
      } else reject(new ServiceError({ code: message.code, message: message.message }));
    });
    // Also what `send` reports when the process has just died; its exit tells the rest.
    child.on("error", (cause) =>
      reject(unavailable(`The engine's process cannot be started: ${cause.message}`, cause)),
    );
    child.once("exit", (code, signal) => {
      const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
      if (isReady) options.onExit(how);
      reject(unavailable(`The engine's process ${how} while it loaded the model.`));
    });
    sendTo(child, options.load);
  });
}

async function startDeadline(clock: Clock, durationMs: number, signal: AbortSignal): Promise<never> {
  await clock.sleep(durationMs, { signal }).catch(() => {
    throw unavailable("The engine was stopped while it started.");
  });
  throw new ServiceError({
    code: "timeout",
    message: `The engine did not load its model within ${durationMs} ms (startDeadlineMs).`,
  });
}

function unavailable(message: string, cause?: unknown): ServiceError {
  return new ServiceError({ code: "unavailable", message, cause });
}

/** Does nothing when the channel is closed: the exit is told separately. */
function sendTo(child: ChildProcess, message: ParentMessage): void {
  if (child.connected) child.send(message);
}
