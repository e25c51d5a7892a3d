// The server's handle of the process that trains one live model (a model that a client trains step by step): starts the
// process, sends it one call at a time, and ends it. If the process dies, all calls fail with the same reason.
import type { Clock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { type Child, startChild } from "../../../base/processes/child.ts";
import { toServiceError } from "../../../base/processes/serialized-error.ts";
import type { TrainingLoad } from "../../trainer/child-protocol.ts";
import type { CallKind, SessionCalls, SessionEvent, SessionProtocol, SessionRequest } from "./protocol.ts";

/** Maximum time in milliseconds that a process without work may take to end. */
const stopDeadlineMs = 2000;

interface WaitingCall {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class SessionProcess {
  readonly #child: Child<SessionProtocol>;
  readonly #calls = new Map<number, WaitingCall>();
  #count = 0;
  #isGone = false;

  private constructor(child: Child<SessionProtocol>) {
    this.#child = child;
    void child.exited.then((how) => this.#fail(lost(how)));
  }

  /**
   * Starts the process, and loads the base model.
   *
   * @throws ServiceError as `startChild`
   */
  static async start(
    load: TrainingLoad,
    { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  ): Promise<SessionProcess> {
    const { stallDeadlineMs: deadlineMs } = load.settings;
    let hear: (event: SessionEvent) => void = () => undefined;
    const child = await startChild<SessionProtocol>(
      {
        module: new URL("./session-main.js", import.meta.url),
        name: "training process",
        load,
        clock,
        startDeadlineMs: deadlineMs,
        silenceDeadlineMs: deadlineMs,
        onEvent: (event) => hear(event),
      },
      { signal },
    );
    const process = new SessionProcess(child);
    hear = (event) => process.#hear(event);
    return process;
  }

  /** The operating system's process id; null once the process has ended. */
  get id(): number | null {
    return this.#child.id;
  }

  /** True once the process has ended. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /**
   * Calls the process. Calls run in the order in which they are made.
   *
   * @throws ServiceError the call's own error; `unavailable` if the process has ended
   */
  call<Kind extends CallKind>(
    kind: Kind,
    given: SessionCalls[Kind]["arguments"],
  ): Promise<SessionCalls[Kind]["result"]> {
    if (this.#isGone) return Promise.reject(lost("has ended"));
    const id = (this.#count += 1);
    const result = new Promise<unknown>((resolve, reject) => this.#calls.set(id, { resolve, reject }));
    this.#child.setWorking(true);
    // Safe casts: the arguments belong to the kind, and so does the result.
    this.#child.send({ id, kind, ...given } as unknown as SessionRequest);
    return result as Promise<SessionCalls[Kind]["result"]>;
  }

  async stop(): Promise<void> {
    await (this.#calls.size > 0 ? this.#child.kill() : this.#child.stop(stopDeadlineMs));
  }

  #hear(event: SessionEvent): void {
    if (event.kind === "alive") return;
    const call = this.#calls.get(event.id);
    this.#calls.delete(event.id);
    if (this.#calls.size === 0) this.#child.setWorking(false);
    if (event.kind === "done") call?.resolve(event.result);
    else call?.reject(toServiceError(event.failure));
  }

  #fail(reason: ServiceError): void {
    this.#isGone = true;
    for (const { reject } of this.#calls.values()) reject(reason);
    this.#calls.clear();
  }
}

function lost(how: string): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message:
      `The training process ${how}, and with it everything that was trained since the last save. Create a training client ` +
      "from the last saved weights.",
  });
}
