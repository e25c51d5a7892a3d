// The embedded engine as the server sees it: the contract `Engine` over a child process that is started, watched, and
// started again when it dies. Loads no native code itself.
import { present } from "../domain/assert.ts";
import type { Clock } from "../domain/clock.ts";
import { choiceCountOf } from "../domain/generation.ts";
import type {
  Engine,
  EngineCapabilities,
  EngineGauge,
  EngineState,
  EngineStatus,
  Generation,
  GenerationRequest,
} from "../domain/generation.ts";
import { serviceOf } from "../domain/lifecycle.ts";
import { ServiceError } from "../domain/service-error.ts";
import { errorOf } from "../processes/failure.ts";
import type { TokenVocabulary } from "../domain/vocabulary.ts";
import type { Logger, LogStyle } from "../telemetry/logger.ts";
import { startChild, type Child } from "../processes/child.ts";
import { checkRequest } from "./check-request.ts";
import type { EngineEvents, EngineProtocol } from "./child-protocol.ts";
import type { CacheCounts } from "./constraints/constraint-cache.ts";
import type { ConstraintSettings } from "./constraints/settings.ts";
import { GenerationStream } from "./events/generation-stream.ts";
import { unpackOutputs } from "./events/packed-outputs.ts";
import { processorNames, readRegistrations } from "./processors/registrations.ts";
import { restartDelayMs } from "./restart-policy.ts";
import { positionsThatFit } from "./loop/scheduler.ts";
import { settingsForThisMachine, type EngineSettings } from "./settings.ts";

export interface ChildEngineOptions {
  readonly modelFolder: string;
  /** For weights converted once; may be shared by engines. */
  readonly cacheFolder: string;
  /** What the model's tokens stand for, which constraints are about. */
  readonly vocabulary: TokenVocabulary;
  readonly settings: EngineSettings;
  /** What constraints on answers may cost. */
  readonly constraints: ConstraintSettings;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of the child's own lines, which go to standard error. */
  /** Of its process. */
  readonly log: LogStyle;
}

/** An engine that also says which process computes, for those who watch it. */
export interface ChildEngine extends Engine {
  /** Null while there is none. */
  processId(): number | null;
}

interface Running {
  readonly id: string;
  readonly stream: GenerationStream;
  /** Whether anything came of it yet. */
  hasBegun: boolean;
}

/** Whatever chat can ask for is listed, beside what settings allow; what is missing chat refuses by name. */
const capabilities: EngineCapabilities = {
  features: new Set([
    "constraint",
    "min-p",
    "penalties",
    "logit-bias",
    "allowed-token-ids",
    "bad-words",
    "logits-processors",
    "min-tokens",
    "cache-salt",
    "prompt-logprobs",
    "beam",
  ]),
};

const emptyCache: CacheCounts = { hits: 0, misses: 0, bytes: 0 };

/** How long a caller should wait before trying again, where nothing better is known. */
const retryAfterSeconds = 2;

/** An engine for one model folder; nothing runs until `start`. */
export function createChildEngine(options: ChildEngineOptions): ChildEngine {
  return new ProcessEngine(options);
}

class ProcessEngine implements ChildEngine {
  readonly capabilities: EngineCapabilities;
  readonly #options: ChildEngineOptions;
  readonly #settings: EngineSettings;
  readonly #logger: Logger;
  readonly #running = new Map<number, Running>();
  readonly #restartedAtMs: number[] = [];
  #state: EngineState = { kind: "starting", reason: "The engine has not been started." };
  #process: Child<EngineProtocol> | null = null;
  #lastKey = 0;
  #kvCacheBytes = 0;
  #constraintCache: CacheCounts = emptyCache;
  #restarting: Promise<void> = Promise.resolve();
  readonly #life = serviceOf("engine", {
    start: (signal) => this.#start(signal),
    stop: () => this.#stop(),
  });

  constructor(options: ChildEngineOptions) {
    this.#options = options;
    this.#settings = settingsForThisMachine(options.settings);
    this.capabilities = capabilitiesOf(this.#settings);
    this.#logger = options.logger.child({ component: "engine" });
  }

  processId(): number | null {
    return this.#process?.id ?? null;
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  submit(request: GenerationRequest): Generation {
    const { waitingCountMax } = this.#settings;
    if (this.#state.kind !== "ready") {
      const message = this.#state.kind === "failed" ? "The engine is down." : this.#state.reason;
      throw new ServiceError({ code: "unavailable", message, retryAfterSeconds });
    }
    checkRequest(request, this.capabilities, this.#state.limits);
    if (this.#find(request.id) !== null) {
      throw new ServiceError({
        code: "conflict",
        message: `A request with the id ${request.id} is running.`,
      });
    }
    if (this.#waitingCount() >= waitingCountMax) {
      const message = `${waitingCountMax} requests are waiting already; try again later.`;
      throw new ServiceError({ code: "overloaded", message, retryAfterSeconds });
    }
    return this.#begin(request, present(this.#process, "the process of an engine that is ready"));
  }

  dropAdapter(id: string): void {
    this.#process?.send({ kind: "drop-adapter", id });
  }

  status(): EngineStatus {
    const waitingCount = this.#waitingCount();
    return {
      state: this.#state,
      runningCount: this.#running.size - waitingCount,
      waitingCount,
      waitingCountMax: this.#settings.waitingCountMax,
      gauges: this.#gauges(),
    };
  }

  #gauges(): readonly EngineGauge[] {
    const { hits, misses, bytes } = this.#constraintCache;
    return [
      {
        name: "kv_cache_bytes",
        value: this.#kvCacheBytes,
        limit: this.#settings.kvCacheBytesMax,
        about: "Memory of keys and values.",
      },
      {
        name: "constraint_cache_bytes",
        value: bytes,
        limit: this.#options.constraints.cacheBytes,
        about: "Memory of constraints in use or kept.",
      },
      {
        name: "constraint_cache_hits",
        value: hits,
        limit: null,
        about: "Constraints that were kept when a request came, since the engine's process started.",
      },
      {
        name: "constraint_cache_misses",
        value: misses,
        limit: null,
        about: "Constraints that had to be compiled, since the engine's process started.",
      },
      {
        name: "restarts",
        value: this.#restartedAtMs.length,
        limit: null,
        about: "How often the engine's process was started again.",
      },
    ];
  }

  #begin(request: GenerationRequest, engineProcess: Child<EngineProtocol>): Generation {
    const key = ++this.#lastKey;
    const stream = new GenerationStream({
      choiceCount: choiceCountOf(request),
      logprobCount: 1 + (request.outputs.topLogprobCount ?? 0),
      onStopChoice: (choice) => engineProcess.send({ kind: "stop-choice", key, choice }),
      onAbort: () => engineProcess.send({ kind: "abort", key }),
      onEnd: () => {
        this.#running.delete(key);
        engineProcess.setWorking(this.#running.size > 0);
      },
    });
    this.#running.set(key, { id: request.id, stream, hasBegun: false });
    engineProcess.setWorking(true);
    engineProcess.send({ kind: "submit", key, request });
    return stream;
  }

  #find(id: string): Running | null {
    for (const running of this.#running.values()) if (running.id === id) return running;
    return null;
  }

  #waitingCount(): number {
    let count = 0;
    for (const running of this.#running.values()) if (!running.hasBegun) count += 1;
    return count;
  }

  #receive(events: EngineEvents): void {
    this.#kvCacheBytes = events.kvCacheBytes;
    this.#constraintCache = events.constraintCache;
    for (const output of unpackOutputs(events.outputs)) {
      const running = this.#running.get(output.key);
      if (running === undefined) continue;
      running.hasBegun = true;
      if (output.kind === "event") running.stream.push(output.event);
      else running.stream.fail(errorOf(output));
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
    const { clock, modelFolder, cacheFolder, vocabulary, constraints, log } = this.#options;
    const settings = this.#settings;
    const launched = await startChild<EngineProtocol>(
      {
        module: new URL("./child-main.js", import.meta.url),
        name: "engine's process",
        load: { modelFolder, cacheFolder, vocabulary, settings, constraints, log },
        clock,
        startDeadline: { ms: settings.startDeadlineMs, setting: "engine.startDeadlineMs" },
        silenceDeadline: { ms: settings.stepDeadlineMs, setting: "engine.stepDeadlineMs" },
        onEvent: (events) => this.#receive(events),
      },
      { signal },
    );
    this.#process = launched;
    const { contextLength, vocabularySize, bytesPerPosition, weights } = launched.ready;
    const counts = Array.from({ length: settings.slotCountMax }, (_, index) =>
      Math.min(contextLength, positionsThatFit(index + 1, { ...settings, bytesPerPosition })),
    );
    const beamPositionCountsMax = counts.filter((count) => count > 0);
    const [positionCountMax = 0] = counts;
    const limits = { contextLength, vocabularySize, positionCountMax, beamPositionCountsMax };
    this.#enter({ kind: "ready", limits, weights });
    void launched.exited.then((how) => this.#lose(how, signal));
  }

  #lose(how: string, signal: AbortSignal): void {
    this.#process = null;
    this.#kvCacheBytes = 0;
    this.#constraintCache = emptyCache;
    if (signal.aborted) return;
    this.#logger.error({ how, requestCount: this.#running.size }, "the engine's process was lost");
    const reason = `The engine's process ${how} and is being started again.`;
    this.#enter({ kind: "restarting", reason });
    this.#failAll("The engine broke down while it computed this request; try again.");
    this.#restarting = this.#restart(reason, signal);
  }

  /** Tries until it is up, is stopped, or has tried too often. */
  async #restart(firstReason: string, signal: AbortSignal): Promise<void> {
    let reason = firstReason;
    const { clock } = this.#options;
    while (!signal.aborted) {
      const delayMs = restartDelayMs(
        this.#restartedAtMs,
        clock.monotonicMs(),
        this.#settings.restartCountMax,
      );
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
    this.#failAll("The engine is being stopped.");
    await this.#restarting;
    await this.#process?.stop(this.#settings.stopDeadlineMs);
    this.#process = null;
  }

  #failAll(message: string): void {
    for (const { stream } of this.#running.values())
      stream.fail(new ServiceError({ code: "unavailable", message, retryAfterSeconds }));
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

function capabilitiesOf({ scheduling, logitsProcessors }: EngineSettings): EngineCapabilities {
  const processors = processorNames(readRegistrations(logitsProcessors));
  if (scheduling === "fcfs") return { ...capabilities, processors };
  return { features: new Set([...capabilities.features, "priority"]), processors };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
