// An engine that is in memory only while it is needed. A request must hold the engine; if necessary, the engine is then
// loaded. Works with any kind of engine, and creates a new one for each load; other modules decide when to load and
// unload.
import { unreachable } from "../../../base/domain/assert.ts";
import type {
  AdapterReference,
  ChoiceRequest,
  Engine,
  EngineCapabilities,
  EngineState,
  EngineStatus,
  Generation,
  GenerationRequest,
} from "../../../base/domain/generation.ts";
import { serviceOf } from "../../../base/domain/lifecycle.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { PromptTransfers } from "../../../base/domain/prompt-transfer.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";
import type { ModelMemory, MemorySlot } from "./model-memory.ts";

export interface OnDemandOptions {
  /** Name of the base model. */
  readonly name: string;
  /**
   * Creates an engine that has not started. Called once immediately, to read the engine's capabilities; the first load
   * uses this engine. Called again for each later load.
   */
  readonly make: () => Engine;
  readonly memory: ModelMemory;
  /** Estimated memory of the loaded engine, in bytes. */
  readonly bytes: number;
  /** True to load the model at startup; otherwise the first request loads it. */
  readonly isReadyAtStart: boolean;
  /** True to keep the model loaded while it is idle. */
  readonly isKept: boolean;
  /** Called when the model is no longer in memory. */
  readonly onUnloaded?: () => void;
  readonly logger: Logger;
}

/** Seconds after which a client should retry a request that arrived while startup was loading the model. */
const retryAfterSeconds = 2;

/**
 * Maximum number of adapters that the next load prepares. If more were published, the first request for an older
 * adapter loads it.
 */
const preparedCountMax = 16;

export class OnDemandEngine implements Engine {
  readonly capabilities: EngineCapabilities;
  readonly #options: OnDemandOptions;
  readonly #place: MemorySlot;
  /** Adapters of model versions that were published while the model was not loaded. */
  readonly #unprepared = new Map<string, AdapterReference>();
  /** The loaded engine, or the engine that the next load will use. */
  #inner: Engine;
  #isLoaded = false;
  #phase: "new" | "starting" | "up" | "stopped" = "new";
  readonly #life = serviceOf("engine", {
    start: (signal) => this.#start(signal),
    stop: () => this.#stop(),
  });

  /** @throws ServiceError `invalid` for a model that can never fit the memory */
  constructor(options: OnDemandOptions) {
    const { name, bytes, isKept, memory, make } = options;
    this.#options = options;
    this.#inner = make();
    this.capabilities = this.#inner.capabilities;
    this.#place = memory.add({
      name,
      bytes,
      isKept,
      load: () => this.#load(),
      unload: () => this.#unload(),
    });
  }

  /** True if the model is in memory, being loaded or being unloaded. */
  get isLoaded(): boolean {
    return !this.#place.isAway;
  }

  /** Prompt transfers of the current engine. Unloading the engine drops the prompts that it holds. */
  get transfers(): PromptTransfers | undefined {
    return this.#inner.transfers;
  }

  /** Reason why the latest load failed, as a text for operators; null if it succeeded. */
  get loadFault(): string | null {
    const { presence } = this.#place;
    return presence.kind === "failed" ? presence.reason : null;
  }

  /** Estimated memory that the loaded engine takes, in bytes. */
  get bytes(): number {
    return this.#options.bytes;
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  /**
   * Waits until the engine is loaded and accepts requests. It continues to accept requests until the returned function
   * is called, so callers must hold the engine while they submit requests.
   *
   * @throws ServiceError as `MemorySlot.hold`; `unavailable` while startup loads the model
   */
  async hold(options: { readonly signal: AbortSignal }): Promise<() => void> {
    if (this.#phase !== "up" && this.#phase !== "stopped") throw loading(this.#options.name);
    return this.#place.hold(options);
  }

  /**
   * Loads the model unless it is loaded. Resolves when the model is loaded.
   *
   * @throws ServiceError as {@link hold}
   */
  async load(options: { readonly signal: AbortSignal }): Promise<void> {
    const release = await this.hold(options);
    release();
  }

  /**
   * Unloads the model. Resolves when the model is no longer in memory. The next request loads it again.
   *
   * @throws ServiceError `conflict` while requests use the model; `unavailable` while startup loads it
   */
  async unload(): Promise<void> {
    if (this.#phase !== "up") throw loading(this.#options.name);
    await this.#place.evict();
  }

  submit(request: GenerationRequest): Generation {
    return this.#inner.submit(request);
  }

  roomFor(choices: ChoiceRequest): number {
    return this.#inner.roomFor(choices);
  }

  async prepareAdapter(reference: AdapterReference): Promise<void> {
    if (this.#isLoaded || this.#phase !== "up") return this.#inner.prepareAdapter(reference);
    this.#unprepared.delete(reference.id);
    this.#unprepared.set(reference.id, reference);
    const [oldest] = this.#unprepared.keys();
    if (this.#unprepared.size > preparedCountMax) this.#unprepared.delete(oldest);
  }

  dropAdapter(id: string): void {
    this.#unprepared.delete(id);
    this.#inner.dropAdapter(id);
  }

  status(): EngineStatus {
    const status = this.#inner.status();
    return {
      ...status,
      state: this.#state(status.state),
      waitingCount: status.waitingCount + this.#place.waitingCount,
    };
  }

  #state(inner: EngineState): EngineState {
    if (this.#phase === "stopped") return { kind: "stopped", reason: "The engine is stopped." };
    if (this.#phase !== "up") return inner;
    const { presence } = this.#place;
    switch (presence.kind) {
      case "loaded":
        return inner;
      case "loading":
        return { kind: "loading", reason: "The model is being loaded." };
      case "waiting":
        return { kind: "loading", reason: presence.reason };
      case "unloading":
        return { kind: "unloaded", reason: "The model is being unloaded." };
      case "unloaded":
        return { kind: "unloaded", reason: "The next request loads the model." };
      case "failed":
        return { kind: "failed", reason: presence.reason };
      default:
        return unreachable(presence);
    }
  }

  async #start(signal: AbortSignal): Promise<void> {
    this.#phase = "starting";
    const abortLoad = (): void => {
      this.#phase = "stopped";
      void this.#place.stop().catch(() => undefined);
    };
    signal.addEventListener("abort", abortLoad, { once: true });
    try {
      if (this.#options.isReadyAtStart) await this.#place.load();
    } finally {
      // Even if the load failed, the engine counts as started: later requests try to load it again, with back-off.
      if (!signal.aborted) this.#phase = "up";
    }
  }

  async #stop(): Promise<void> {
    this.#phase = "stopped";
    await this.#place.stop();
  }

  async #load(): Promise<void> {
    await this.#inner.start();
    this.#isLoaded = true;
    for (const reference of this.#unprepared.values()) {
      this.#inner.prepareAdapter(reference).catch((error: unknown) => {
        this.#options.logger.warn({ err: error, adapter: reference.id }, "an adapter could not be prepared");
      });
    }
    this.#unprepared.clear();
  }

  async #unload(): Promise<void> {
    const gone = this.#inner;
    this.#isLoaded = false;
    const { make, logger, onUnloaded } = this.#options;
    try {
      await gone.stop();
      if (this.#phase !== "stopped") this.#inner = make();
    } catch (error) {
      // No new engine could be created. The next load will fail too, because it uses the old engine, which cannot start
      // again.
      logger.error({ err: error }, "an unloaded engine could not be recreated");
    }
    onUnloaded?.();
  }
}

function loading(name: string): ServiceError {
  return new ServiceError({
    code: "unavailable",
    obstacle: "unloaded-base",
    message: `The model ${name} is loading; try again in ${retryAfterSeconds} s.`,
    retryAfterSeconds,
  });
}
