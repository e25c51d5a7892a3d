// An engine for a base model that vLLM servers compute: implements the engine contract over HTTP. Sends prompts as
// token ids and receives token ids.
import type { Clock } from "../../base/domain/clock.ts";
import type {
  AdapterReference,
  ChoiceRequest,
  Engine,
  EngineCapabilities,
  EngineGauge,
  EngineState,
  EngineStatus,
  Generation,
  GenerationRequest,
} from "../../base/domain/generation.ts";
import { serviceOf } from "../../base/domain/lifecycle.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { GenerationStream } from "../engine/generation-stream.ts";
import { Generations, unavailable } from "../engine/generations.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import { createAdapterFolders, type AdapterFolders } from "./adapters/adapter-folders.ts";
import { answerRequest } from "./answer-request.ts";
import { Replica } from "./replicas/replica.ts";
import { replicaGauges } from "./replicas/replica-gauges.ts";
import { ReplicaSet } from "./replicas/replica-set.ts";
import { copyFolderOf, timeoutsOf, type RemoteSettings } from "./settings.ts";
import { refuseUnsupported } from "./client/refuse-unsupported.ts";
import { VllmServer } from "./client/vllm-server.ts";
import { vllmFeatures } from "./client/vllm-versions.ts";

export interface RemoteEngineOptions {
  /** URLs of the vLLM servers, at least one. All of them serve the same model. */
  readonly urls: readonly string[];
  /** Vocabulary size of the model whose files are on this machine. */
  readonly vocabularySize: number;
  readonly settings: RemoteSettings;
  readonly waitingCountMax: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class RemoteEngine implements Engine {
  readonly capabilities: EngineCapabilities;
  readonly #options: RemoteEngineOptions;
  readonly #generations: Generations;
  readonly #place: AdapterFolders;
  readonly #replicas: ReplicaSet;
  #requestCount = 0;
  #phase: "new" | "up" | "failed" | "stopped" = "new";
  readonly #life = serviceOf("engine on vLLM", {
    start: async (signal) => {
      try {
        await this.#replicas.start({ signal });
        this.#phase = "up";
      } catch (error) {
        if (!signal.aborted) this.#phase = "failed";
        throw error;
      }
    },
    stop: async () => {
      this.#phase = "stopped";
      this.#generations.failAll("The engine is being stopped.");
      await this.#replicas.stop();
    },
  });

  constructor(options: RemoteEngineOptions) {
    const { settings, waitingCountMax, urls, clock, logger } = options;
    this.#options = options;
    this.capabilities = { features: vllmFeatures(settings.scheduling), isExact: false, passesPrompts: true };
    this.#generations = new Generations(this.capabilities, waitingCountMax);
    this.#place = createAdapterFolders(copyFolderOf(settings));
    this.#replicas = new ReplicaSet({
      replicas: urls.map((url) => this.#replica(url)),
      queue: { sequenceCountMax: settings.sequencesMax, waitMs: settings.turnSeconds * 1000, clock },
      startMs: settings.startSeconds * 1000,
      lookMs: settings.lookSeconds * 1000,
      clock,
      logger,
    });
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  submit(request: GenerationRequest): Generation {
    const state = this.#state();
    if (state.kind === "ready") refuseUnsupported(request, state.limits);
    const abort = new AbortController();
    const stream = this.#generations.open(
      request,
      { state, room: this.roomFor(request.choices) },
      { onEnd: () => abort.abort(wanted) },
    );
    void this.#answer(request, stream, { arrival: this.#requestCount++, signal: abort.signal });
    return stream;
  }

  /** A vLLM server admits the choices of a request one after another, so only the context length limits them. */
  roomFor({ kind }: ChoiceRequest): number {
    const state = this.#state();
    return state.kind === "ready" && kind === "sample" ? state.limits.contextLength : 0;
  }

  async prepareAdapter(reference: AdapterReference): Promise<void> {
    const state = this.#state();
    if (state.kind !== "ready") throw unavailable(state.reason);
    const { signal } = new AbortController();
    await Promise.all(
      this.#replicas.ready().map(async ({ replica }) => {
        (await replica.adapters.use(reference, { signal })).release();
      }),
    );
  }

  dropAdapter(id: string): void {
    for (const { adapters } of this.#replicas.replicas) adapters.drop(id);
  }

  status(): EngineStatus {
    return this.#generations.status(this.#state(), () => this.#gauges());
  }

  #state(): EngineState {
    if (this.#phase === "stopped") return { kind: "stopped", reason: "The engine is stopped." };
    if (this.#phase === "failed") return { kind: "failed", reason: this.#replicas.fault };
    const facts = this.#replicas.ready().map((ready) => ready.facts);
    if (this.#phase === "new")
      return { kind: "starting", reason: "No vLLM server of this model has answered yet." };
    if (facts.length === 0) return { kind: "restarting", reason: "No vLLM server of this model answers." };
    const least = (numbers: readonly number[]): number => Math.min(...numbers);
    const { vocabularySize } = this.#options;
    const logprobCountMax = least(facts.map((one) => one.logprobCountMax));
    return {
      kind: "ready",
      limits: {
        contextLength: least(facts.map((one) => one.contextLength)),
        vocabularySize,
        ...(logprobCountMax < vocabularySize && { logprobCountMax }),
      },
    };
  }

  #gauges(): readonly EngineGauge[] {
    const { replicas } = this.#replicas;
    return [
      {
        name: "replicas_ready",
        value: this.#replicas.ready().length,
        limit: replicas.length,
        about: "Servers of the model that answer.",
      },
      {
        name: "adapters_loaded",
        value: replicas.reduce((sum, { adapters }) => sum + adapters.count, 0),
        limit: replicas.length * this.#options.settings.adaptersMax,
        about: "Adapters loaded by all servers of the model together.",
      },
      ...replicas.flatMap((replica) =>
        replicaGauges(replica, this.#replicas.countsAt(replica), this.#options.settings),
      ),
    ];
  }

  async #answer(
    request: GenerationRequest,
    stream: GenerationStream,
    options: { readonly arrival: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const tried = new Set<Replica>();
    for (;;) {
      const failure = await this.#tryOne(request, stream, { tried, ...options });
      if (failure === null || options.signal.aborted) return;
      const { error, isFinal } = failure;
      // The request is not retried if another server holds its prompt, because a held prompt can be fetched only once.
      const isOnce = request.prompt.passed !== undefined;
      const isLast = isFinal || isOnce || !mayGoElsewhere(error) || tried.size >= triesMax;
      if (!isLast && this.#replicas.ready().some(({ replica }) => !tried.has(replica))) continue;
      return stream.fail(error instanceof ServiceError ? error : unavailable("The engine failed."));
    }
  }

  /**
   * Sends the request to one replica (one of the vLLM servers). Returns null on success, else the error. `isFinal`
   * means that no other replica may be tried, because the request was not admitted in time or the answer had already
   * begun.
   */
  async #tryOne(
    request: GenerationRequest,
    stream: GenerationStream,
    {
      tried,
      arrival,
      signal,
    }: { readonly tried: Set<Replica>; readonly arrival: number; readonly signal: AbortSignal },
  ): Promise<{ readonly error: unknown; readonly isFinal: boolean } | null> {
    const { vocabularySize, logger } = this.#options;
    let isFinal = true;
    try {
      const { replica, facts, leave } = await this.#replicas.enter(request, { arrival, tried, signal });
      tried.add(replica);
      isFinal = false;
      stream.begin();
      try {
        for await (const events of answerRequest(request, { replica, facts, vocabularySize, signal })) {
          isFinal = true;
          for (const event of events) stream.push(event);
        }
        replica.succeeded();
        return null;
      } catch (error) {
        if (!signal.aborted && isReplicaFault(error)) {
          replica.failed(error);
          const fields = { err: error, requestId: request.id, server: replica.server.name };
          logger.warn(fields, "a vLLM server did not answer a request");
        }
        throw error;
      } finally {
        leave();
      }
    } catch (error) {
      return { error, isFinal };
    }
  }

  #replica(url: string): Replica {
    const { settings, vocabularySize, logger } = this.#options;
    return new Replica({
      server: new VllmServer({ url: new URL(url), key: settings.apiKey, timeouts: timeoutsOf(settings) }),
      place: this.#place,
      adaptersMax: settings.adaptersMax,
      vocabularySize,
      onFault: (error, name) =>
        logger.warn({ err: error, adapter: name }, "an adapter could not be unloaded"),
      onDropped: (name) => this.#removeUnused(name),
    });
  }

  /** Removes the copy of an adapter if no server has the adapter loaded. */
  #removeUnused(name: string): void {
    if (this.#replicas.replicas.some(({ adapters }) => adapters.has(name))) return;
    this.#place
      .remove(name)
      .catch((error: unknown) =>
        this.#options.logger.warn(
          { err: error, adapter: name },
          "the copy of an adapter could not be removed",
        ),
      );
  }
}

/**
 * Reason for the abort when the reader stops reading an answer. It is created once for all answers, because most
 * answers end without needing it.
 */
const wanted = new ServiceError({ code: "cancelled", message: "Nothing more is wanted of the request." });

/** Maximum number of replicas that are tried for one request before it has any output. */
const triesMax = 3;

/**
 * True if another replica may succeed. False after a timeout, because the replica that timed out may still be
 * computing.
 */
function mayGoElsewhere(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === "unavailable" || error.code === "overloaded");
}

function isReplicaFault(error: unknown): boolean {
  return !(error instanceof ServiceError) || error.code === "unavailable" || error.code === "timeout";
}
