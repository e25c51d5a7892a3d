// A child process, from the child's own side. It loads the parent's first message, then serves the parent's requests
// until the parent stops it or is gone. The module that uses this one defines the requests.
import { present } from "../domain/assert.ts";
import { failureOf } from "./serialized-error.ts";
import type { MessageToChild, MessageToParent, Protocol } from "./protocol.ts";
import { ServiceError } from "../domain/service-error.ts";

/** A child process after it has loaded its input. */
export interface Loaded<P extends Protocol> {
  readonly ready: P["ready"];
  receive(request: P["request"]): void;
  /** Finishes essential work. When it resolves, the process ends. */
  stop(): Promise<void>;
}

/**
 * Serves the parent of this process. Call once, when the module is loaded.
 *
 * @param load makes the process able to work; if it throws, the start is refused with its error
 * - `emit` sends an event; it resolves when the event is on its way and never rejects: without a parent this process
 *   ends
 * - `supplement` resolves to the supplement, if the parent sends one
 * @param prepare receives the hint of a parent that pre-starts this process
 */
export function serveParent<P extends Protocol>(
  load: (
    load: P["load"],
    emit: (event: P["event"]) => Promise<void>,
    supplement: Promise<unknown>,
  ) => Promise<Loaded<P>>,
  prepare: (hint: unknown) => void = () => undefined,
): void {
  let supply: (supplement: unknown) => void = () => undefined;
  const supplement = new Promise<unknown>((resolve) => {
    supply = resolve;
  });
  let loaded: Loaded<P> | null = null;
  const emit = (event: P["event"]): Promise<void> => post<P>({ kind: "event", event });
  const begin = async (given: P["load"]): Promise<void> => {
    try {
      loaded = await load(given, emit, supplement);
    } catch (error) {
      await refuse(error);
      return;
    }
    await post<P>({ kind: "ready", ready: loaded.ready });
  };
  process.on("message", (message: MessageToChild<P>) => {
    switch (message.kind) {
      case "hint":
        prepare(message.hint);
        return;
      case "load":
        void begin(message.load);
        return;
      case "supplement":
        supply(message.supplement);
        return;
      case "request":
        present(loaded, "what a ready process has loaded").receive(message.request);
        return;
      case "stop":
        void stop(loaded);
    }
  });
  // Without a parent, nobody receives results. The process kills itself, because a normal exit would wait for computing
  // threads, and then abort.
  process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
  // These signals are ignored. A terminal sends them to all processes of its process group, but the parent decides when
  // this process ends.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => undefined);
}

async function stop(loaded: { stop(): Promise<void> } | null): Promise<void> {
  await loaded?.stop();
  process.exit(0);
}

async function refuse(error: unknown): Promise<void> {
  const failure = failureOf(error, "The process could not load its input; the log says why.");
  await post({ kind: "refused", failure });
  process.exit(1);
}

function post<P extends Protocol>(message: MessageToParent<P>): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve();
    else process.send(message, () => resolve());
  });
}

/**
 * Refuses to continue without a parent. If the parent died, this process has a successor now or soon, and the results
 * of both would conflict.
 *
 * @throws ServiceError `cancelled` if the parent of this process is gone; a process that never had one may continue
 */
export function refuseOrphan(): void {
  if (process.send === undefined || process.connected) return;
  throw new ServiceError({
    code: "cancelled",
    message: "This work is no longer needed: the server that asked for it is gone.",
  });
}
