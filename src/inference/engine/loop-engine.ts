// The embedded engine inside its process: the loop over a model, the threads that compute constraints, and the logits
// processors. `ipc/` forwards the server's calls to this engine; the server checks and counts requests before that. A
// step that throws is a programmer error, and the engine then stays down.
import { present } from "../../base/domain/assert.ts";
import type {
  AdapterReference,
  ChoiceRequest,
  EngineGauge,
  EngineState,
  GenerationRequest,
} from "../../base/domain/generation.ts";
import { systemClock, type Clock } from "../../base/domain/clock.ts";
import { serviceOf, type Service } from "../../base/domain/lifecycle.ts";
import type { TokenVocabulary } from "../../base/domain/vocabulary.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { ConstraintSettings } from "./token-masks/settings.ts";
import { ThreadedConstraints } from "./token-masks/threaded-constraints.ts";
import { BlockSession } from "./logits/blocks/block-session.ts";
import { PromptDrafter } from "./drafts/prompt-drafter.ts";
import { unavailable } from "./generations.ts";
import { IdleWork } from "./idle-work.ts";
import { loopGauges } from "./loop-capabilities.ts";
import { EngineLoop, type Submission } from "./loop/engine-loop.ts";
import type { GenerationOutput } from "./loop/sequence.ts";
import type { ModelRunner } from "./model-runner.ts";
import { readRegistrations } from "./logits-processors/registrations.ts";
import { loadProcessors } from "./logits-processors/processor-registry.ts";
import type { EngineSettings } from "./settings.ts";
import { TransferStore } from "./transfers/transfer-store.ts";

/** A loaded model that is ready to compute. */
export interface OpenModel {
  readonly runner: ModelRunner;
  /** Hex SHA-256 of the model's weights, if known. */
  readonly weights?: string;
}

export interface LoopEngineOptions {
  /** Loads the model; called once by `start`. The engine closes the loaded model when it stops. */
  readonly openModel: () => Promise<OpenModel>;
  /** The model's vocabulary, which constraints need. Awaited once the model is loaded. */
  readonly vocabulary: TokenVocabulary | Promise<TokenVocabulary>;
  /**
   * Settings of the engine. Zeros, which mean "derive from the machine", must already be replaced by derived values.
   */
  readonly settings: EngineSettings;
  /** Cost limits of constraints on answers. */
  readonly constraints: ConstraintSettings;
  readonly logger: Logger;
  /**
   * If given, idle work prepares the data that the first constraint needs. If absent, the first request with a
   * constraint waits for that preparation.
   */
  readonly clock?: Clock;
  /** Called at the end of each step. */
  readonly onStep?: () => void;
  /** Called when a step has thrown an error, which is a programmer error. */
  readonly onBreakdown?: () => void;
}

export class LoopEngine implements Service {
  readonly #options: LoopEngineOptions;
  #state: EngineState = { kind: "starting", reason: "The engine has not been started." };
  #loop: EngineLoop | null = null;
  #constraints: ThreadedConstraints | null = null;
  #transfers: TransferStore | undefined;
  /** Clean-up actions, run in this order when the engine stops. */
  readonly #ends: (() => Promise<void>)[] = [];
  readonly #life = serviceOf("engine", {
    start: (signal) => this.#start(signal),
    stop: () => this.#stop(),
  });

  constructor(options: LoopEngineOptions) {
    this.#options = options;
  }

  /** Store for prompt transfers; undefined before the engine has started. */
  get transfers(): TransferStore | undefined {
    return this.#transfers;
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  /**
   * Like {@link EngineLoop.submit}. The engine must be ready, and the request must have been checked against the
   * engine's limits.
   */
  submit(request: GenerationRequest, output: GenerationOutput): Submission {
    return present(this.#loop, "the loop of an engine that is ready").submit(request, output);
  }

  roomFor(choices: ChoiceRequest): number {
    return this.#state.kind === "ready"
      ? present(this.#loop, "the loop of an engine that is ready").roomFor(choices)
      : 0;
  }

  async prepareAdapter(reference: AdapterReference): Promise<void> {
    if (this.#loop === null) throw unavailable("The engine is not up.");
    await this.#loop.prepareAdapter(reference);
  }

  dropAdapter(id: string): void {
    this.#loop?.dropAdapter(id);
  }

  /** Frees the memory that is kept to speed up the next burst of requests. */
  releaseSpares(): void {
    this.#loop?.releaseSpares();
  }

  /** Returns the memory of keys and values that became garbage since the last call, in bytes. */
  takeDroppedBytes(): number {
    return this.#loop?.takeDroppedBytes() ?? 0;
  }

  get state(): EngineState {
    return this.#state;
  }

  gauges(): readonly EngineGauge[] {
    return loopGauges(this.#options, {
      kvCacheBytes: this.#loop?.kvCacheBytes ?? 0,
      kvCacheBytesMax: this.#loop?.kvCacheBytesMax,
      lanes: this.#loop?.laneCounts,
      prefixes: this.#loop?.cachedPrefixes,
      drafts: this.#loop?.draftCounts,
      constraintCache: this.#constraints?.kept,
      transfers: this.#transfers,
    });
  }

  async #start(signal: AbortSignal): Promise<void> {
    this.#state = { kind: "starting", reason: "The engine is loading the model." };
    const { openModel, settings, logger, clock, onStep } = this.#options;
    const { runner, weights } = await openModel();
    this.#ends.unshift(() => runner.close());
    const vocabulary = await this.#options.vocabulary;
    const constraints = new ThreadedConstraints({
      vocabulary,
      settings: this.#options.constraints,
      choiceCountMax: settings.slotCountMax,
      onBreakdown: (error) => logger.error({ err: error }, "a constraint thread broke down"),
    });
    this.#constraints = constraints;
    this.#ends.unshift(() => constraints.close());
    const idleWork =
      clock && settings.preparesAhead
        ? new IdleWork(clock, [async () => constraints.startAhead()])
        : undefined;
    if (idleWork !== undefined) this.#ends.unshift(() => idleWork.stop());
    const { vocabularySize } = runner.shape;
    const registrations = readRegistrations(settings.logitsProcessors);
    const processors = await loadProcessors(registrations, { vocabulary, vocabularySize });
    const blocks = await BlockSession.open(vocabularySize, settings.threads);
    this.#ends.unshift(async () => blocks?.close());
    const transfers = new TransferStore(runner.shape, {
      bytesMax: settings.transferBytesMax,
      clock: systemClock,
      ...(onStep && { onExpired: onStep }),
    });
    this.#transfers = transfers;
    const { draftTokensMax } = settings;
    const loop = new EngineLoop(runner, {
      ...settings,
      constraints,
      processors,
      blocks,
      transfers,
      drafter: draftTokensMax === 0 ? undefined : new PromptDrafter(draftTokensMax),
      onStep: () => {
        idleWork?.postpone();
        onStep?.();
      },
    });
    const ended = loop.run().catch((error: unknown) => this.#breakDown(error));
    this.#loop = loop;
    this.#ends.unshift(() => {
      loop.stop();
      return ended;
    });
    const { hiddenSize: embeddingSize } = runner;
    const limits = { contextLength: runner.shape.contextLength, vocabularySize, embeddingSize };
    if (!signal.aborted) this.#state = { kind: "ready", limits, weights };
  }

  async #stop(): Promise<void> {
    this.#state = { kind: "stopped", reason: "The engine is stopped." };
    for (const end of this.#ends) await end();
    this.#transfers?.close();
    this.#loop = null;
    this.#constraints = null;
  }

  #breakDown(error: unknown): void {
    const { logger, onBreakdown } = this.#options;
    logger.error({ err: error }, "the engine broke down");
    this.#state = { kind: "failed", reason: "The engine broke down; the log says why." };
    onBreakdown?.();
  }
}
