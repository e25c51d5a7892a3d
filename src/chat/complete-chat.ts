// One chat completion from request to last event, free of HTTP: find the model, render, submit, emit. Keeps nothing but
// the ids of what is running; neither records nor authenticates.
import type { Caller } from "../domain/access.ts";
import { present } from "../domain/assert.ts";
import { chatFault, type ChatEvent, type ChatRequest } from "../domain/chat.ts";
import type { Clock } from "../domain/clock.ts";
import { quoted, ServiceError } from "../domain/service-error.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { createChatMetrics } from "./chat-metrics.ts";
import { AdaptersInUse } from "../registry/adapters-in-use.ts";
import type { ModelDirectory, ResolvedModel } from "../registry/model-directory.ts";
import { refuseMissingFeatures } from "./missing-features.ts";
import { locateRefusal } from "./refused-constraint.ts";
import { refuseCalls } from "./tools/tool-use.ts";
import { planGeneration } from "./plan-generation.ts";
import type { ServedBase } from "./served-base.ts";
import { generationDeltas, usageAtStart } from "./reply/generation-deltas.ts";

export interface ChatService {
  /**
   * Answers a request: one header, deltas, one usage. What is wrong with a request, and an engine that cannot take it, is
   * thrown before the first event. Leaving the loop early, or the signal, frees the engine's slots.
   *
   * @throws ServiceError `not_found` (also for a version that is deleted before it is loaded), `forbidden`, `invalid`
   * (the model's name; calls of tools that the model does not make), `unsupported` (template, context length, what the
   * engine cannot do), `conflict` (the request's id is running), `overloaded`, `unavailable`, `cancelled` (the signal)
   */
  complete(request: ChatRequest, caller: Caller, options: CompleteOptions): AsyncIterable<ChatEvent>;
  /** Requests waiting or being answered. */
  readonly runningCount: number;
  /** The adapters that they run on. */
  adaptersInUse(): Iterable<string>;
}

export interface CompleteOptions {
  readonly signal: AbortSignal;
  /** Called once the engine has the request: what can be known to be wrong with it was thrown before. */
  readonly onSubmitted?: () => void;
}

export interface ChatDependencies {
  readonly directory: Pick<ModelDirectory, "resolve" | "adapterFault">;
  readonly bases: readonly ServedBase[];
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export function createChatService(dependencies: ChatDependencies): ChatService {
  const { clock, logger } = dependencies;
  const running = new Set<string>();
  const adapters = new AdaptersInUse();
  const metrics = createChatMetrics(dependencies.metrics, () => running.size);

  async function* answer(
    request: ChatRequest,
    caller: Caller,
    options: CompleteOptions,
  ): AsyncGenerator<ChatEvent> {
    const startedMs = clock.monotonicMs();
    const model = await dependencies.directory.resolve(request.identity.model, caller);
    const leave = adapters.enter(model.adapter?.id ?? null);
    try {
      yield* answerOf({ model, startedMs }, request, caller, options);
    } finally {
      leave();
    }
  }

  async function* answerOf(
    { model, startedMs }: { readonly model: ResolvedModel; readonly startedMs: number },
    request: ChatRequest,
    caller: Caller,
    options: CompleteOptions,
  ): AsyncGenerator<ChatEvent> {
    const { signal } = options;
    const found = dependencies.bases.find(({ model: { name } }) => name === model.base);
    const base = present(found, "the directory names served base models only");
    refuseCalls(request, base);
    refuseMissingFeatures(request, base.engine.capabilities);
    const plan = await planGeneration(request, model, base, { client: caller.keyId, signal });
    throwIfAborted(signal);

    const generation = base.engine.submit({ ...plan.generation, id: runningId(request, caller) });
    const abort = (): void => generation.abort();
    signal.addEventListener("abort", abort, { once: true });
    options.onSubmitted?.();
    let usage = usageAtStart(plan);
    let isHeaderSent = false;
    try {
      const { tokenizer, replies } = base;
      for await (const batch of generationDeltas(generation, plan, {
        tokenizer,
        request,
        shownSpecialIds: replies.markIds,
      })) {
        usage = batch.usage;
        if (!isHeaderSent) {
          isHeaderSent = true;
          metrics.firstOutput(base.model.name, clock.monotonicMs() - startedMs);
          const { promptLogprobs, choiceCount, notices } = batch;
          const notice = [...plan.notices, ...notices].join("; ") || null;
          const header = { ...plan.header, createdAt: clock.now(), promptLogprobs, choiceCount, notice };
          yield { kind: "header", header };
        }
        yield* batch.deltas;
      }
      yield { kind: "usage", usage };
    } catch (error) {
      const isAdapters = !isHeaderSent && error instanceof ServiceError && error.code === "conflict";
      if (isAdapters) throw await dependencies.directory.adapterFault(model, error);
      throw locateRefusal(error, request, plan.reply);
    } finally {
      signal.removeEventListener("abort", abort);
      generation.abort();
      metrics.used(base.model.name, usage);
      logger.debug(
        { requestId: request.identity.requestId, model: model.fingerprint, ...usage },
        "chat request ended",
      );
    }
  }

  async function* complete(
    request: ChatRequest,
    caller: Caller,
    options: CompleteOptions,
  ): AsyncGenerator<ChatEvent> {
    const { signal } = options;
    const startedMs = clock.monotonicMs();
    const id = runningId(request, caller);
    const isDuplicate = running.has(id);
    // Holds for a consumer that leaves early, which reaches neither the end nor the error.
    let outcome = "cancelled";
    try {
      if (isDuplicate) throw alreadyRunning(request.identity.requestId);
      throwIfAborted(signal);
      running.add(id);
      yield* answer(request, caller, options);
      outcome = "completed";
    } catch (error) {
      outcome = error instanceof ServiceError ? error.code : "internal";
      throw error;
    } finally {
      if (!isDuplicate) running.delete(id);
      metrics.ended(outcome, clock.monotonicMs() - startedMs);
    }
  }

  return {
    complete,
    get runningCount() {
      return running.size;
    },
    adaptersInUse: () => adapters.ids(),
  };
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
