// An engine in a process of its own, as its parent sees it: the contract `Engine`, whose calls are carried to a child that
// is started, watched, and started again when it dies. Which engine that is, the child alone knows; nothing of it, and no
// native code, is loaded here.
import { present } from "../../domain/assert.ts";
import type { Clock } from "../../domain/clock.ts";
import type {
  Engine,
  EngineCapabilities,
  EngineGauge,
  EngineState,
  EngineStatus,
  Generation,
  GenerationRequest,
} from "../../domain/generation.ts";
import { serviceOf } from "../../domain/lifecycle.ts";
import { startChild, type Child } from "../../processes/child.ts";
import { errorOf } from "../../processes/failure.ts";
import type { Logger } from "../../telemetry/logger.ts";
import type { GenerationStream } from "../generation-stream.ts";
import { Generations } from "../generations.ts";
import type { EngineSettings } from "../settings.ts";
import { unpackOutputs } from "./packed-outputs.ts";
import type { CarrierEvents, CarrierProtocol } from "./protocol.ts";
import { restartDelayMs } from "./restart-policy.ts";

export interface ProcessEngineOptions {
  /** The module that the process runs; it calls `serveEngine`. */
  readonly module: URL;
  /** What that makes its engine of. */
  readonly load: unknown;
  /** Those of the engine. */
  readonly capabilities: EngineCapabilities;
  /** Those of the engine, as they are while it is not up. */
  readonly gauges: readonly EngineGauge[];
  readonly settings: Pick<
    EngineSettings,
    "waitingCountMax" | "startDeadlineMs" | "stepDeadlineMs" | "stopDeadlineMs" | "restartCountMax"
  >;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Nothing runs until `start`. */
export class ProcessEngine implements Engine {
  readonly capabilities: EngineCapabilities;
  readonly #options: ProcessEngineOptions;
  readonly #logger: Logger;
  readonly #generations: Generations;
  readonly #calls = new Map<number, GenerationStream>();
  readonly #restartedAtMs: number[] = [];
  #state: EngineState = { kind: "starting", reason: "The engine has not been started." };
  #process: Child<CarrierProtocol> | null = null;
  #lastCall = 0;
  /** The values of the engine's gauges; none while it is not up. */
  #gauges: readonly number[] = [];
  #restarting: Promise<void> = Promise.resolve();
  readonly #life = serviceOf("engine", {
    start: (signal) => this.#start(signal),
    stop: () => this.#stop(),
  });

  constructor(options: ProcessEngineOptions) {
    this.#options = options;
    this.capabilities = options.capabilities;
    this.#generations = new Generations(options.capabilities, options.settings.waitingCountMax);
    this.#logger = options.logger.child({ component: "engine" });
  }

  /** Null while there is none. */
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
    const child = this.#process;
    const call = ++this.#lastCall;
    const stream = this.#generations.open(request, this.#state, {
      onStopChoice: (choice) => child?.send({ kind: "stop-choice", call, choice }),
      onAbort: () => child?.send({ kind: "abort", call }),
      onEnd: () => {
        this.#calls.delete(call);
        child?.setWorking(this.#calls.size > 0);
      },
    });
    this.#calls.set(call, stream);
    const engineProcess = present(child, "the process of an engine that is ready");
    engineProcess.setWorking(true);
    engineProcess.send({ kind: "submit", call, request });
    return stream;
  }

  dropAdapter(id: string): void {
    this.#process?.send({ kind: "drop-adapter", id });
  }

  status(): EngineStatus {
    const { gauges } = this.#options;
    return this.#generations.status(this.#state, [
      ...gauges.map((gauge, index) => ({ ...gauge, value: this.#gauges[index] ?? gauge.value })),
      {
        name: "restarts",
        value: this.#restartedAtMs.length,
        limit: null,
        about: "How often the engine's process was started again.",
      },
    ]);
  }

  #receive({ outputs, gauges }: CarrierEvents): void {
    this.#gauges = gauges;
    for (const output of unpackOutputs(outputs)) {
      const stream = this.#calls.get(output.call);
      if (output.kind === "event") stream?.push(output.event);
      else stream?.fail(errorOf(output));
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
    const { clock, module, load, settings } = this.#options;
    const launched = await startChild<CarrierProtocol>(
      {
        module,
        name: "engine's process",
        load,
        clock,
        startDeadline: { ms: settings.startDeadlineMs, setting: "engine.startDeadlineMs" },
        silenceDeadline: { ms: settings.stepDeadlineMs, setting: "engine.stepDeadlineMs" },
        onEvent: (events) => this.#receive(events),
      },
      { signal },
    );
    this.#process = launched;
    this.#enter(launched.ready);
    void launched.exited.then((how) => this.#lose(how, signal));
  }

  #lose(how: string, signal: AbortSignal): void {
    this.#process = null;
    this.#gauges = [];
    if (signal.aborted) return;
    this.#logger.error({ how, requestCount: this.#calls.size }, "the engine's process was lost");
    const reason = `The engine's process ${how} and is being started again.`;
    this.#enter({ kind: "restarting", reason });
    this.#generations.failAll("The engine broke down while it computed this request; try again.");
    this.#restarting = this.#restart(reason, signal);
  }

  /** Tries until it is up, is stopped, or has tried too often. */
  async #restart(firstReason: string, signal: AbortSignal): Promise<void> {
    let reason = firstReason;
    const { clock, settings } = this.#options;
    while (!signal.aborted) {
      const delayMs = restartDelayMs(this.#restartedAtMs, clock.monotonicMs(), settings.restartCountMax);
      if (delayMs === null) {
        this.#enter({ kind: "failed", reason: `${reason} It did so too often and stays down.` });
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
    this.#generations.failAll("The engine is being stopped.");
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
