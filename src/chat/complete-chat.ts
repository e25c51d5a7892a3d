// One chat completion from request to last delta, free of HTTP: find the model, render, submit, read. Keeps nothing but
// the ids of what is running; neither records nor authenticates.
import { setImmediate } from "node:timers/promises";
import type { Caller } from "../domain/access.ts";
import { assert, present } from "../domain/assert.ts";
import {
  chatFault,
  type ChatCompletion,
  type ChatDelta,
  type ChatHeader,
  type ChatRequest,
  type ChatUsage,
} from "../domain/chat.ts";
import type { Clock } from "../domain/clock.ts";
import type { Generation } from "../domain/generation.ts";
import { quoted, ServiceError } from "../domain/service-error.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { createChatMetrics, type ChatMetrics } from "./chat-metrics.ts";
import { AdaptersInUse } from "../registry/adapters-in-use.ts";
import type { ModelDirectory, ResolvedModel } from "../registry/model-directory.ts";
import { refuseMissingFeatures } from "./missing-features.ts";
import { locateRefusal } from "./refused-constraint.ts";
import { refuseCalls } from "./tools/tool-use.ts";
import { planGeneration, type GenerationPlan } from "./plan-generation.ts";
import type { ServedBase } from "./served-base.ts";
import { DeltaReader, usageAtStart } from "./reply/delta-reader.ts";
import { portionsOf } from "./reply/portions.ts";

export interface ChatService {
  /**
   * Begins to answer a request: resolves once the prompt is computed, and it is known how many answers there are. What is
   * wrong with the request, and an engine that cannot take it, is thrown here; what goes wrong later, by the deltas.
   *
   * @throws ServiceError `not_found` (also for a version that is deleted before it is loaded), `forbidden`, `invalid`
   * (the model's name; calls of tools that the model does not make), `unsupported` (template, context length, what the
   * engine cannot do), `conflict` (the request's id is running), `overloaded`, `unavailable`, `cancelled` (the signal)
   */
  begin(request: ChatRequest, caller: Caller, options: BeginOptions): Promise<ChatCompletion>;
  /** Requests waiting or being answered. */
  readonly runningCount: number;
  /** The adapters that they run on. */
  adaptersInUse(): Iterable<string>;
}

export interface BeginOptions {
  /** Ends the completion, and frees the engine's slots. */
  readonly signal: AbortSignal;
  /** Called once the engine has the request: what can be known to be wrong with it was thrown before. */
  readonly onSubmitted?: () => void;
  /** What is thrown of an error, such as one that names fields as the caller knows them; absent throws it as it is. */
  readonly located?: (error: unknown) => unknown;
}

export interface ChatDependencies {
  readonly directory: Pick<ModelDirectory, "resolve" | "adapterFault">;
  readonly bases: readonly ServedBase[];
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export function createChatService(dependencies: ChatDependencies): ChatService {
  return new Completions(dependencies);
}

/** How far a completion has come. */
interface Progress {
  header: ChatHeader | null;
  usage: ChatUsage;
}

/** A request that the engine has. */
interface Submitted {
  readonly model: ResolvedModel;
  readonly base: ServedBase;
  readonly plan: GenerationPlan;
  readonly generation: Generation;
}

class Completions implements ChatService {
  readonly #dependencies: ChatDependencies;
  readonly #metrics: ChatMetrics;
  readonly #running = new Set<string>();
  readonly #adapters = new AdaptersInUse();

  constructor(dependencies: ChatDependencies) {
    this.#dependencies = dependencies;
    this.#metrics = createChatMetrics(dependencies.metrics, () => this.runningCount);
  }

  get runningCount(): number {
    return this.#running.size;
  }

  adaptersInUse(): Iterable<string> {
    return this.#adapters.ids();
  }

  async begin(request: ChatRequest, caller: Caller, options: BeginOptions): Promise<ChatCompletion> {
    const usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
    const progress: Progress = { header: null, usage };
    const deltas = this.#run(progress, request, caller, options);
    // Leaving a generator that has not been asked for anything would run nothing of it, and free nothing.
    await deltas.next();
    return {
      header: present(progress.header, "what a completion has when it has begun"),
      deltas,
      get usage() {
        return progress.usage;
      },
      leave: async () => void (await deltas.return()),
    };
  }

  /** The whole of a completion. What it yields first is nothing: the header is there then. */
  async *#run(
    progress: Progress,
    request: ChatRequest,
    caller: Caller,
    options: BeginOptions,
  ): AsyncGenerator<readonly ChatDelta[], void> {
    const { clock } = this.#dependencies;
    const startedMs = clock.monotonicMs();
    // Holds for a reader that leaves early, which reaches neither the end nor the error.
    let outcome = "cancelled";
    let submitted: Submitted | null = null;
    const ends: (() => void)[] = [];
    try {
      ends.push(this.#enter(request, caller));
      submitted = await this.#submit(request, caller, { ...options, progress, ends });
      const { base, plan, generation } = submitted;
      const reader = new DeltaReader(generation, plan, { base, request });
      const logprobCount = 1 + (plan.generation.outputs.topLogprobCount ?? 0);
      for await (const batch of generation.events) {
        for (const portion of portionsOf(batch, logprobCount)) {
          if (portion[0] !== batch[0]) await setImmediate();
          const deltas = reader.read(portion);
          if (deltas === null) continue;
          progress.usage = reader.usage;
          if (progress.header === null) {
            this.#metrics.firstOutput(base.model.name, clock.monotonicMs() - startedMs);
            progress.header = headerOf(plan, reader, clock.now());
            yield [];
          }
          if (deltas.length > 0) yield deltas;
        }
        if (reader.isFinished) break;
      }
      assert(reader.isFinished, "an engine finishes every choice or throws");
      outcome = "completed";
    } catch (thrown) {
      const error = await this.#errorOf(thrown, request, { submitted, isBegun: progress.header !== null });
      outcome = error instanceof ServiceError ? error.code : "internal";
      throw options.located?.(error) ?? error;
    } finally {
      for (const end of ends.toReversed()) end();
      this.#metrics.ended(outcome, clock.monotonicMs() - startedMs);
    }
  }

  /** Counts a request in; returns what counts it out. */
  #enter(request: ChatRequest, caller: Caller): () => void {
    const id = runningId(request, caller);
    if (this.#running.has(id)) throw alreadyRunning(request.identity.requestId);
    this.#running.add(id);
    return () => this.#running.delete(id);
  }

  /** @param ends gets what is to be done when the completion ends, however it does */
  async #submit(
    request: ChatRequest,
    caller: Caller,
    { signal, onSubmitted, progress, ends }: BeginOptions & { progress: Progress; ends: (() => void)[] },
  ): Promise<Submitted> {
    throwIfAborted(signal);
    const { directory, bases, logger } = this.#dependencies;
    const model = await directory.resolve(request.identity.model, caller);
    ends.push(this.#adapters.enter(model.adapter?.id ?? null));
    const found = bases.find(({ model: { name } }) => name === model.base);
    const base = present(found, "the directory names served base models only");
    refuseCalls(request, base);
    refuseMissingFeatures(request, base.engine.capabilities);
    const plan = await planGeneration(request, model, base, { client: caller.keyId, signal });
    throwIfAborted(signal);
    const generation = base.engine.submit({ ...plan.generation, id: runningId(request, caller) });
    const abort = (): void => generation.abort();
    signal.addEventListener("abort", abort, { once: true });
    progress.usage = usageAtStart(plan);
    ends.push(() => {
      signal.removeEventListener("abort", abort);
      generation.abort();
      this.#metrics.used(base.model.name, progress.usage);
      const { requestId } = request.identity;
      logger.debug({ requestId, model: model.fingerprint, ...progress.usage }, "chat request ended");
    });
    onSubmitted?.();
    return { model, base, plan, generation };
  }

  /** What an error means for the request. */
  async #errorOf(
    error: unknown,
    request: ChatRequest,
    { submitted, isBegun }: { readonly submitted: Submitted | null; readonly isBegun: boolean },
  ): Promise<unknown> {
    if (submitted === null) return error;
    const { model, plan } = submitted;
    const isAdapters = !isBegun && error instanceof ServiceError && error.code === "conflict";
    return isAdapters
      ? await this.#dependencies.directory.adapterFault(model, error)
      : locateRefusal(error, request, plan.reply);
  }
}

function headerOf({ header, notices }: GenerationPlan, reader: DeltaReader, createdAt: Date): ChatHeader {
  const notice = [...notices, ...reader.notices].join("; ") || null;
  const { promptLogprobs, choiceCount } = reader;
  return { ...header, createdAt, promptLogprobs, choiceCount, notice };
}

/** A request's id among all that run: ids belong to their entity, and one entity's say nothing to another. */
function runningId({ identity }: ChatRequest, { entity }: Caller): string {
  return JSON.stringify([entity, identity.requestId]);
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ServiceError({ code: "cancelled", message: "The request was cancelled." });
}

function alreadyRunning(requestId: string): ServiceError {
  const message = `The request id ${quoted(requestId)} is already running; send another id, or wait until it has ended.`;
  return new ServiceError({
    code: "conflict",
    faults: [chatFault("identity.requestId", { message, type: "value_error" })],
  });
}
