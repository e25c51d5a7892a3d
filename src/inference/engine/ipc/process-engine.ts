// An engine in a child process, as its parent uses it: implements the contract `Engine` by forwarding calls to the
// child. Starts, monitors and restarts the child. This module loads no engine and no native code; only the child's
// module decides which engine it runs.
import { present } from "../../../base/domain/assert.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import type {
  AdapterReference,
  ChoiceRequest,
  Engine,
  EngineCapabilities,
  EngineGauge,
  EngineState,
  EngineStatus,
  Generation,
  GenerationEvent,
  GenerationRequest,
} from "../../../base/domain/generation.ts";
import { serviceOf } from "../../../base/domain/lifecycle.ts";
import type { PromptTransfers } from "../../../base/domain/prompt-transfer.ts";
import type { ServiceError } from "../../../base/domain/service-error.ts";
import { startChild, type Child } from "../../../base/processes/child.ts";
import { toServiceError } from "../../../base/processes/serialized-error.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";
import { Generations, unavailable } from "../generations.ts";
import type { EngineSettings } from "../settings.ts";
import { IpcTransfers, type TransferAnswer } from "./ipc-transfers.ts";
import { unpackOutputs } from "./packed-outputs.ts";
import type { IpcEvents, IpcProtocol, IpcRequest } from "./protocol.ts";
import { restartDelayMs } from "./restart-policy.ts";

export interface ProcessEngineOptions {
  /** Module that the child process runs. The module must call `serveEngine`. */
  readonly module: URL;
  /** Parameters from which the child process creates its engine. */
  readonly load: unknown;
  /**
   * Hint for choosing among processes that were started ahead of time. The engine prefers a process that got an equal
   * hint.
   */
  readonly hint?: unknown;
  /**
   * Returns data that the child needs to become ready, but not to begin loading. Called at each start of a child
   * process.
   */
  readonly supplement?: () => Promise<unknown>;
  readonly capabilities: EngineCapabilities;
  /** Names of the engine's gauges, with the values that they have while the engine is down. */
  readonly gauges: readonly EngineGauge[];
  readonly settings: Pick<
    EngineSettings,
    "waitingCountMax" | "startDeadlineMs" | "stepDeadlineMs" | "stopDeadlineMs" | "restartCountMax"
  >;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Receives the outputs of one call that the parent has made on the engine. */
interface Call {
  push(event: GenerationEvent): void;
  fail(error: ServiceError): void;
  /** Called with the result of a call that does not generate tokens. */
  end?(answer: TransferAnswer): void;
}

/** An engine in a child process. It starts no process before `start` is called. */
export class ProcessEngine implements Engine {
  readonly capabilities: EngineCapabilities;
  readonly transfers: PromptTransfers;
  readonly #options: ProcessEngineOptions;
  readonly #logger: Logger;
  readonly #generations: Generations;
  readonly #calls = new Map<number, Call>();
  readonly #restartedAtMs: number[] = [];
  #state: EngineState = { kind: "starting", reason: "The engine has not been started." };
  #process: Child<IpcProtocol> | null = null;
  #lastCall = 0;
  /** Latest values of the engine's gauges, as the child sent them; empty while the engine is down. */
  #gauges: readonly number[] = [];
  /** Results of `roomFor`, indexed as in the protocol's `rooms`; empty while the engine is down. */
  #rooms: readonly number[] = [];
  #restarting: Promise<void> = Promise.resolve();
  readonly #life = serviceOf("engine", {
    start: (signal) => this.#start(signal),
    stop: () => this.#stop(),
  });

  constructor(options: ProcessEngineOptions) {
    this.#options = options;
    this.capabilities = options.capabilities;
    this.transfers = new IpcTransfers((ask) => this.#ask((call) => ({ kind: "transfer", call, ask })));
    this.#generations = new Generations(options.capabilities, options.settings.waitingCountMax);
    this.#logger = options.logger.child({ component: "engine" });
  }

  /** Operating-system id of the child process; null if none runs. */
  get processId(): number | null {
    return this.#process?.id ?? null;
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  submit(request: GenerationRequest): Generation {
    const call = ++this.#lastCall;
    const child = this.#process;
    const room = this.roomFor(request.choices);
    const stream = this.#generations.open(
      request,
      { state: this.#state, room },
      {
        onStopChoice: (choice) => child?.send({ kind: "stop-choice", call, choice }),
        onAbort: () => child?.send({ kind: "abort", call }),
        onEnd: () => this.#end(call),
      },
    );
    this.#begin(call, stream, { kind: "submit", call, request });
    return stream;
  }

  roomFor(choices: ChoiceRequest): number {
    return this.#rooms[choices.kind === "beam" ? choices.width : 0] ?? 0;
  }

  async prepareAdapter(reference: AdapterReference): Promise<void> {
    await this.#ask((call) => ({ kind: "prepare-adapter", call, reference }));
  }

  dropAdapter(id: string): void {
    this.#process?.send({ kind: "drop-adapter", id });
  }

  status(): EngineStatus {
    const { gauges } = this.#options;
    return this.#generations.status(this.#state, () => [
      ...gauges.map((gauge, index) => ({ ...gauge, value: this.#gauges[index] ?? gauge.value })),
      {
        name: "restarts",
        value: this.#restartedAtMs.length,
        limit: null,
        about: "Restarts of the engine's process.",
      },
    ]);
  }

  /** Makes a call that does not generate tokens, and waits for its result. */
  async #ask(request: (call: number) => IpcRequest): Promise<TransferAnswer> {
    if (this.#state.kind !== "ready") throw unavailable(this.#state.reason);
    const call = ++this.#lastCall;
    return new Promise<TransferAnswer>((resolve, reject) => {
      const asked: Call = { push: () => undefined, fail: reject, end: resolve };
      this.#begin(call, asked, request(call));
    }).finally(() => this.#end(call));
  }

  #begin(number: number, call: Call, request: IpcRequest): void {
    const child = present(this.#process, "the process of an engine that is ready");
    this.#calls.set(number, call);
    child.setWorking(true);
    child.send(request);
  }

  #end(number: number): void {
    this.#calls.delete(number);
    this.#process?.setWorking(this.#calls.size > 0);
  }

  #failAll(message: string): void {
    for (const call of this.#calls.values()) call.fail(unavailable(message));
  }

  #receive({ outputs, gauges }: IpcEvents): void {
    this.#gauges = gauges;
    for (const output of unpackOutputs(outputs)) {
      const call = this.#calls.get(output.call);
      if (output.kind === "event") call?.push(output.event);
      else if (output.kind === "failed") call?.fail(toServiceError(output.failure));
      else call?.end?.(output.kind === "transferred" ? output.answer : null);
    }
  }

  async #start(signal: AbortSignal): Promise<void> {
    this.#enter({ kind: "starting", reason: "The engine is loading the model." });
    try {
      await this.#launch(signal);
    } catch (error) {
      if (!signal.aborted) this.#enter({ kind: "failed", reason: messageOf(error) });
      throw error;
    }
  }

  async #launch(signal: AbortSignal): Promise<void> {
    const { clock, module, load, hint, supplement, settings } = this.#options;
    const launched = await startChild<IpcProtocol>(
      {
        module,
        name: "engine's process",
        load,
        hint,
        supplement: supplement?.(),
        clock,
        startDeadlineMs: settings.startDeadlineMs,
        silenceDeadlineMs: settings.stepDeadlineMs,
        onEvent: (events) => this.#receive(events),
      },
      { signal },
    );
    this.#process = launched;
    this.#rooms = launched.ready.rooms;
    this.#enter(launched.ready.state);
    void launched.exited.then((how) => this.#handleDeath(how, signal));
  }

  #handleDeath(how: string, signal: AbortSignal): void {
    this.#process = null;
    this.#gauges = [];
    this.#rooms = [];
    if (signal.aborted) return;
    this.#logger.error({ how, requestCount: this.#calls.size }, "the engine's process died");
    const reason = `The engine's process ${how} and is being restarted.`;
    this.#enter({ kind: "restarting", reason });
    this.#failAll("The engine broke down while it computed this request; try again.");
    this.#restarting = this.#restart(reason, signal);
  }

  /** Restarts the child process until the engine is ready or stopped, or there have been too many restarts. */
  async #restart(firstReason: string, signal: AbortSignal): Promise<void> {
    let reason = firstReason;
    const { clock, settings } = this.#options;
    while (!signal.aborted) {
      const delayMs = restartDelayMs(this.#restartedAtMs, clock.monotonicMs(), settings.restartCountMax);
      if (delayMs === null) {
        this.#enter({ kind: "failed", reason: `${reason} It died too often and stays down.` });
        return;
      }
      try {
        await clock.sleep(delayMs, { signal });
        this.#restartedAtMs.push(clock.monotonicMs());
        await this.#launch(signal);
        return;
      } catch (error) {
        reason = messageOf(error);
        if (!signal.aborted) this.#enter({ kind: "restarting", reason });
      }
    }
  }

  async #stop(): Promise<void> {
    this.#enter({ kind: "stopped", reason: "The engine is stopped." });
    this.#failAll("The engine is being stopped.");
    await this.#restarting;
    await this.#process?.stop(this.#options.settings.stopDeadlineMs);
    this.#process = null;
  }

  #enter(state: EngineState): void {
    if (this.#state.kind === "stopped") return;
    this.#state = state;
    this.#logger.info(
      { state: state.kind, reason: state.kind === "ready" ? "" : state.reason },
      "engine state",
    );
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
