// One chat completion from request to last event, free of HTTP: find the model, render, submit, tell. Keeps nothing but
// the ids of what is running; recording and authentication are others' affair.
import type { Caller } from "../domain/access.ts";
import { present } from "../domain/assert.ts";
import type { ChatEvent, ChatRequest } from "../domain/chat.ts";
import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { createChatMetrics } from "./chat-metrics.ts";
import type { ModelDirectory } from "./model-directory.ts";
import { planGeneration } from "./plan-generation.ts";
import type { ServedBase } from "./served-base.ts";
import { tellGeneration, usageAtStart } from "./tell-generation.ts";

export interface ChatService {
  /**
   * Answers a request: one header, deltas, one usage. What is wrong with a request, and an engine that cannot take it, is
   * thrown before the first event. Leaving the loop early, or the signal, frees the engine's slots.
   *
   * @throws ServiceError `not_found`, `forbidden`, `invalid` (the model's name), `unsupported` (template, context length),
   * `conflict` (the request's id is running), `overloaded`, `unavailable`, `cancelled` (the signal)
   */
  complete(
    request: ChatRequest,
    caller: Caller,
    options: { readonly signal: AbortSignal },
  ): AsyncIterable<ChatEvent>;
  /** Requests waiting or being answered. */
  readonly runningCount: number;
}

export interface ChatDependencies {
  readonly directory: ModelDirectory;
  readonly bases: readonly ServedBase[];
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export function createChatService(dependencies: ChatDependencies): ChatService {
  const { clock, logger } = dependencies;
  const running = new Set<string>();
  const metrics = createChatMetrics(dependencies.metrics, () => running.size);

  async function* answer(
    request: ChatRequest,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncGenerator<ChatEvent> {
    const startedMs = clock.monotonicMs();
    const model = await dependencies.directory.resolve(request.model, caller);
    const found = dependencies.bases.find(({ model: { name } }) => name === model.base);
    const base = present(found, "the directory names served base models only");
    const plan = planGeneration(request, model, base);
    throwIfAborted(signal);

    const generation = base.engine.submit(plan.generation);
    const abort = (): void => generation.abort();
    signal.addEventListener("abort", abort, { once: true });
    let usage = usageAtStart(plan);
    let isHeaderTold = false;
    try {
      for await (const telling of tellGeneration(generation, plan, {
        tokenizer: base.tokenizer,
        stop: request.stop,
      })) {
        usage = telling.usage;
        if (!isHeaderTold) {
          isHeaderTold = true;
          metrics.firstOutput(base.model.name, clock.monotonicMs() - startedMs);
          yield { kind: "header", header: { ...plan.header, createdAt: clock.now() } };
        }
        yield* telling.deltas;
      }
      yield { kind: "usage", usage };
    } finally {
      signal.removeEventListener("abort", abort);
      generation.abort();
      metrics.used(base.model.name, usage);
      logger.debug(
        { requestId: request.requestId, model: model.fingerprint, ...usage },
        "chat request ended",
      );
    }
  }

  async function* complete(
    request: ChatRequest,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncGenerator<ChatEvent> {
    const startedMs = clock.monotonicMs();
    const isDuplicate = running.has(request.requestId);
    // Holds for a consumer that leaves early, which reaches neither the end nor the error.
    let outcome = "cancelled";
    try {
      if (isDuplicate) throw alreadyRunning(request.requestId);
      throwIfAborted(signal);
      running.add(request.requestId);
      yield* answer(request, caller, signal);
      outcome = "completed";
    } catch (error) {
      outcome = error instanceof ServiceError ? error.code : "internal";
      throw error;
    } finally {
      if (!isDuplicate) running.delete(request.requestId);
      metrics.ended(outcome, clock.monotonicMs() - startedMs);
    }
  }

  return {
    complete: (request, caller, { signal }) => complete(request, caller, signal),
    get runningCount() {
      return running.size;
    },
  };
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ServiceError({ code: "cancelled", message: "The request was cancelled." });
}

function alreadyRunning(requestId: string): ServiceError {
  const message = `The request id ${JSON.stringify(requestId)} is already running; send another id, or wait until it has ended.`;
  return new ServiceError({
    code: "conflict",
    message,
    faults: [{ location: ["body", "request_id"], message, type: "value_error" }],
  });
}
