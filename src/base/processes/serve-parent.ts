// A child process from inside: it loads what its parent sends first, then serves the parent's requests until that stops
// it or goes away. What the requests mean is the using folder's.
import { present } from "../domain/assert.ts";
import { failureOf } from "./carried-error.ts";
import type { MessageToChild, MessageToParent, Protocol } from "./protocol.ts";
import { ServiceError } from "../domain/service-error.ts";

/** A child that has loaded. */
export interface Loaded<P extends Protocol> {
  readonly ready: P["ready"];
  receive(request: P["request"]): void;
  /** Finishes what must be finished; the process ends when it resolves. */
  stop(): Promise<void>;
}

/**
 * Serves the parent of this process. To be called once, when the module is loaded.
 *
 * @param load makes the process able to work; what it throws refuses the start. `emit` sends an event; it resolves when
 *   the event is on its way, and never rejects: without a parent this process ends. `supplement` resolves to what the parent
 *   sends after the load, where it does so
 * @param prepare takes the hint of a parent that starts this process ahead of what it will load
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
  // Without a parent nobody takes the results. At once: an exit would wait for threads that compute, and end in an abort.
  process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
  // A terminal sends its signals to the whole group; the parent decides when this process ends.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => undefined);
}

async function stop(loaded: { stop(): Promise<void> } | null): Promise<void> {
  await loaded?.stop();
  process.exit(0);
}

async function refuse(error: unknown): Promise<void> {
  const failure = failureOf(error, "What the process was given cannot be loaded; the log says why.");
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
 * A process whose parent died has a successor by now, or soon: what it would still publish is in that one's way.
 *
 * @throws ServiceError `cancelled` where the parent of this process is gone; one that never had any may go on
 */
export function refuseOrphan(): void {
  if (process.send === undefined || process.connected) return;
  throw new ServiceError({
    code: "cancelled",
    message: "Nobody waits for this work any more: the server that asked for it is gone.",
  });
}
