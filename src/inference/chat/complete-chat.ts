// Runs one chat completion from the request to the last delta: finds the model, renders the prompt, submits it to the
// engine and reads the answer. Knows nothing of HTTP and does not authenticate. Stores only the ids of running
// requests; a recorder stores the answers.
import type { Caller } from "../../base/domain/access.ts";
import { assert, present } from "../../base/domain/assert.ts";
import { brokenModel, isBrokenModel } from "../../base/domain/broken-model.ts";
import {
  chatFault,
  type ChatCompletion,
  type ChatDelta,
  type ChatHeader,
  type ChatRequest,
  type ChatUsage,
} from "../../base/domain/chat.ts";
import { loopTurns } from "../../base/domain/sharing/loop-turns.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { choiceCountOf, type Generation } from "../../base/domain/generation.ts";
import type { Allowance, TokenReservation } from "../../base/domain/keys/limits.ts";
import type { UsageCounter } from "../../base/domain/keys/usage.ts";
import type { CompletionKey } from "../../base/domain/recordings/completion-key.ts";
import type { ChatRecorder, ChatRecording } from "../../base/domain/recordings/chat-recorder.ts";
import type { CallAttempt } from "../../base/domain/rollouts/call-attempt.ts";
import { quoted, ServiceError } from "../../base/domain/service-error.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { Metrics } from "../../base/telemetry/metrics.ts";
import type { GenAiMeter, Span } from "../../base/telemetry/tracing.ts";
import {
  createChatMetrics,
  type ChatMetrics,
  createVllmMetrics,
  type VllmMetrics,
} from "./measures/chat-metrics.ts";
import { computeStages, noUsage, startTimeline, type ChatTimeline } from "./measures/chat-timeline.ts";
import { toGenAiRequest, traceChat } from "./measures/trace-chat.ts";
import { AdaptersInUse } from "../models/registry/version-uses.ts";
import type { ModelDirectory, ResolvedModel } from "../models/registry/model-directory.ts";
import { reasoningFaults, refuseMissingFeatures } from "./missing-features.ts";
import { forwardParameters, passPrompt, findPassingFaults, type PassedPrompt } from "./passed-prompt.ts";
import type { PromptExchange } from "../kv-transfer/prompt-exchange.ts";
import { locateRefusal } from "./refused-constraint.ts";
import { refuseCalls } from "./tools/tool-use.ts";
import { planGeneration, type GenerationPlan } from "./plan-generation.ts";
import { acquireModel, type AcquiredModel, type ServedBase, type ServedBases } from "./served-base.ts";
import { beginRecording, isRecorded } from "./recorded-answer.ts";
import type { RolloutCalls } from "./rollouts/rollout-calls.ts";
import { DeltaReader, initialUsage } from "./reply/delta-reader.ts";
import { splitIntoChunks } from "./reply/chunks.ts";
import type { WaitingSlots } from "./waiting-slots.ts";

export interface ChatService {
  /**
   * Begins to answer a request. Resolves once the prompt is computed and the number of answers is known. Throws if the
   * request is invalid or the engine refuses it; errors after that are thrown while the deltas are read.
   *
   * @throws ServiceError with one of these codes:
   * - `not_found` (also for a version that is deleted before it is loaded), `forbidden`
   * - `invalid` (the model's name; a tool choice for a model that makes no tool calls)
   * - `unsupported` (the template, the context length, or a feature that the engine lacks)
   * - `conflict` (a request with this id is running)
   * - `overloaded` (the engine, or a limit of the caller's), `unavailable`, `cancelled` (the signal)
   */
  begin(request: ChatRequest, caller: Caller, options: BeginOptions): Promise<ChatCompletion>;
  /** Number of requests that are waiting or being answered. */
  readonly runningCount: number;
  /** Returns the running and waiting requests for trained models, one entry for each request. */
  trainedRequests(): Iterable<TrainedRequest>;
}

/** A running or waiting request for a trained model. */
export interface TrainedRequest {
  readonly base: string;
  readonly modelId: string;
  /** True once the prompt is computed. */
  readonly hasBegun: boolean;
}

export interface BeginOptions {
  /** Aborting this signal ends the completion and frees its slots in the engine's batch. */
  readonly signal: AbortSignal;
  /** Remaining token allowance of the caller; absent or null if unlimited. */
  readonly allowance?: Allowance | null;
  /**
   * Called once the request is submitted to the engine. Errors that can be detected before submission are thrown
   * before this call.
   */
  readonly onSubmitted?: () => void;
  /** Attempt at a call of a rollout; absent or null if the client does not identify attempts. */
  readonly attempt?: CallAttempt | null;
  /** Parent span of the trace; absent or null if not traced. */
  readonly span?: Span | null;
  /**
   * Maps an error before it is thrown, for example to the field names of the caller's API. If absent, errors are thrown
   * unchanged.
   */
  readonly located?: (error: unknown) => unknown;
}

export interface ChatDependencies {
  readonly directory: Pick<ModelDirectory, "resolve" | "adapterFault">;
  readonly bases: ServedBases;
  /** Passes the KV cache of prompts between servers; absent or null if this server passes none. */
  readonly exchange?: PromptExchange | null;
  /** Records answers; absent or null if this server records none. */
  readonly recorder?: ChatRecorder | null;
  /** Finds the earlier calls of rollouts that a call continues; absent if this server records no rollouts. */
  readonly rollouts?: Pick<RolloutCalls, "continueCall">;
  /**
   * Limits how many requests of each entity may wait. Shared with all other code that submits requests to the engines;
   * absent if unlimited.
   */
  readonly waitingSlots?: WaitingSlots;
  /** Counts the requests that use each adapter, so that no adapter in use is deleted. */
  readonly adapters?: AdaptersInUse;
  /** Counts the usage of each API key; absent or null if usage is not counted. */
  readonly usage?: UsageCounter | null;
  /** True for a service whose chats the server itself asks; absent if clients ask them. */
  readonly isInternal?: true;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Meter for OpenTelemetry's metrics; null if they are not exported. */
  readonly genAi?: GenAiMeter | null;
  readonly logger: Logger;
}

export function createChatService({
  adapters = new AdaptersInUse(),
  ...dependencies
}: ChatDependencies): ChatService {
  const running = new Set<string>();
  const metrics = createChatMetrics(dependencies.metrics, () => running.size);
  const vllm = createVllmMetrics(dependencies.metrics);
  const timelines = new Set<ChatTimeline>();
  return {
    begin: async (request, caller, options) => {
      const shared = { ...dependencies, running, adapters, metrics, vllm, timelines };
      const pass = caller.rollout ?? null;
      const known = pass === null ? request : await dependencies.rollouts?.continueCall(pass, request);
      const completion = new Completion(shared, { request: known ?? request, caller, ...options });
      // Runs the generator up to its first `yield`. If the generator were abandoned before that, its clean-up code
      // would not run, and nothing would be freed.
      await completion.deltas.next();
      return completion;
    },
    get runningCount() {
      return running.size;
    },
    trainedRequests: function* () {
      for (const { model, computedMs } of timelines)
        if (model !== null && model.adapter !== null && model.modelId !== null)
          yield { base: model.base, modelId: model.modelId, hasBegun: computedMs !== null };
    },
  };
}

/** State shared by all completions. */
interface Shared extends Omit<ChatDependencies, "metrics" | "adapters"> {
  /** Ids of running requests. */
  readonly running: Set<string>;
  readonly adapters: AdaptersInUse;
  readonly metrics: ChatMetrics;
  readonly vllm: VllmMetrics;
  /** Timelines of requests that are running. */
  readonly timelines: Set<ChatTimeline>;
}

interface Asked extends BeginOptions {
  readonly request: ChatRequest;
  readonly caller: Caller;
}

class Completion implements ChatCompletion {
  readonly deltas: AsyncGenerator<readonly ChatDelta[], void>;
  readonly #shared: Shared;
  readonly #asked: Asked;
  /** Clean-up functions. They run in reverse order, no matter how the completion ends. */
  readonly #ends: (() => void)[] = [];
  readonly #timeline: ChatTimeline;
  #header: ChatHeader | null = null;
  /** Usage that has already been counted in the metrics. */
  #counted: ChatUsage = noUsage;
  #passed: PassedPrompt | null = null;
  #recording: ChatRecording | null = null;
  #reservation: TokenReservation | null = null;
  /** Stops counting this request as one that waits for the engine. */
  #stopWaiting: () => void = () => undefined;
  /** True if the answer is recorded. Final only when the answer has ended. */
  #isRecorded = true;

  constructor(shared: Shared, asked: Asked) {
    this.#shared = shared;
    this.#asked = asked;
    this.#timeline = startTimeline(asked.request, shared.clock.monotonicMs());
    this.deltas = this.#run();
  }

  get header(): ChatHeader {
    return present(this.#header, "the header of a completion that has begun");
  }

  get usage(): ChatUsage {
    return this.#timeline.usage;
  }

  get recordedAs(): CompletionKey | null {
    return this.#isRecorded ? (this.#recording?.key ?? null) : null;
  }

  async leave(): Promise<void> {
    await this.deltas.return();
  }

  /** Runs the whole completion. Yields an empty list first, when the header is set. */
  async *#run(): AsyncGenerator<readonly ChatDelta[], void> {
    const { clock, metrics, timelines } = this.#shared;
    const timeline = this.#timeline;
    const startedAt = clock.now();
    timelines.add(timeline);
    try {
      const { base, plan, generation } = await this.#submit();
      const reader = new DeltaReader(generation, plan, { base, request: this.#asked.request });
      const logprobCount = 1 + (plan.generation.outputs.topLogprobCount ?? 0);
      for await (const batch of generation.events) {
        for (const portion of splitIntoChunks(batch, logprobCount)) {
          if (portion[0] !== batch[0]) await loopTurns.next(this.#asked.caller.entity);
          const deltas = reader.read(portion);
          if (deltas === null) continue;
          timeline.usage = reader.usage;
          if (this.#header === null) {
            this.#stopWaiting();
            timeline.computedMs = clock.monotonicMs();
            timeline.waitedMs = reader.waitedMs;
            metrics.firstOutput(base.model.name, timeline.computedMs - timeline.requestedMs);
            this.#recording = this.#record(plan, reader.choiceCount, startedAt);
            const stages = computeStages(timeline);
            this.#header = headerOf(plan, reader, { createdAt: clock.now(), passed: this.#passed, stages });
            this.#count(base.model.name);
            yield [];
          }
          if (deltas.length > 0) {
            if (timeline.firstTokenMs === null) {
              timeline.firstTokenMs = clock.monotonicMs();
              this.#shared.vllm.firstToken(base.model.name, timeline.firstTokenMs - timeline.requestedMs);
            }
            for (const { finish, choiceTokens: tokenCount } of deltas)
              if (finish !== null) timeline.finishes.push({ reason: finish.reason, tokenCount });
            this.#count(base.model.name);
            this.#recording?.add(deltas);
            yield deltas;
          }
        }
        if (reader.isFinished) break;
      }
      assert(reader.isFinished, "an engine finishes every choice or throws");
      // The recording is written before the end of the answer is sent, so that a client that has received the whole
      // answer can find its recording.
      this.#isRecorded = (await this.#recording?.end(timeline.usage)) ?? false;
      const isOfRollout = (this.#asked.caller.rollout ?? null) !== null;
      if (isOfRollout && !this.#isRecorded) throw unrecorded();
      timeline.outcome = "completed";
    } catch (thrown) {
      const error = await this.#errorOf(thrown);
      timeline.outcome = error instanceof ServiceError ? error.code : "internal";
      throw this.#asked.located?.(error) ?? error;
    } finally {
      if (timeline.outcome !== "completed") this.#passed?.releaseHeld();
      for (const end of this.#ends.toReversed()) end();
      timelines.delete(timeline);
      timeline.endedMs = clock.monotonicMs();
      metrics.ended(timeline.outcome, timeline.endedMs - timeline.requestedMs);
      this.#observe();
    }
  }

  /** Records metrics and the trace of the ended request. */
  #observe(): void {
    const { vllm, genAi = null } = this.#shared;
    const timeline = this.#timeline;
    const { span = null } = this.#asked;
    if (timeline.model !== null) {
      vllm.ended(timeline.model.base, timeline);
      genAi?.record(toGenAiRequest(timeline, timeline.model.base));
    }
    if (span !== null) traceChat(span, timeline);
  }

  async #submit(): Promise<{ base: ServedBase; plan: GenerationPlan; generation: Generation }> {
    const { running, logger, clock, isInternal = false } = this.#shared;
    const { request, caller, signal, onSubmitted } = this.#asked;
    const timeline = this.#timeline;
    const { requestId } = request.identity;
    const id = runningId(request, caller);
    if (running.has(id)) throw alreadyRunning(requestId);
    throwIfAborted(signal);
    running.add(id);
    this.#ends.push(() => running.delete(id));
    const { model, base } = await this.#acquireModel();
    [timeline.model, timeline.modelReadyMs] = [model, clock.monotonicMs()];
    const { keyId: client, entity } = caller;
    const recorded = isRecorded(this.#shared.recorder ?? null, request, model, caller);
    const plan = await planGeneration(request, model, base, {
      client,
      entity,
      signal,
      isRecorded: recorded,
      isInternal,
    });
    throwIfAborted(signal);
    const asked = await this.#pass(plan, model, base).catch((error: unknown) => {
      throwIfAborted(signal);
      throw error;
    });
    throwIfAborted(signal);
    this.#reserve(plan, base);
    const { generation: planned } = plan;
    const generation = base.engine.submit({ ...planned, id, prompt: { ...planned.prompt, ...asked } });
    [timeline.plan, timeline.usage, timeline.submittedMs] = [plan, initialUsage(plan), clock.monotonicMs()];
    const abort = (): void => generation.abort();
    signal.addEventListener("abort", abort, { once: true });
    this.#ends.push(() => {
      signal.removeEventListener("abort", abort);
      generation.abort();
      this.#count(base.model.name);
      const by = { keyId: client, entity, model: model.fullName };
      this.#shared.usage?.count(by, { requests: 1, ...timeline.usage });
      logger.debug({ requestId, model: model.fingerprint, ...timeline.usage }, "chat request ended");
    });
    onSubmitted?.();
    return { base, plan, generation };
  }

  /** Reserves the request's maximum usage against the caller's limits. The reservation lasts until the request ends. */
  #reserve({ generation }: GenerationPlan, base: ServedBase): void {
    const { request, caller, allowance = null } = this.#asked;
    const leaveSlot = this.#shared.waitingSlots?.enter(caller.entity);
    this.#stopWaiting = () => leaveSlot?.();
    this.#ends.push(() => this.#stopWaiting());
    if (allowance === null) return;
    const leaveQueue = allowance.wait(base.model.name, base.engine.status().waitingCountMax);
    this.#stopWaiting = () => (leaveQueue(), leaveSlot?.());
    // A request without a token limit reserves no answer tokens. Its maximum would be the whole context, and reserving
    // that would block other requests even if the answer is short.
    const { maxTokens } = generation.stopping;
    const isBounded = Number.isFinite(request.stopping.maxTokens ?? Infinity);
    const answerTokens = isBounded ? maxTokens * choiceCountOf(generation) : 0;
    const reservation = allowance.reserve(generation.prompt.tokenIds.length + answerTokens);
    this.#reservation = reservation;
    this.#ends.push(() => reservation.settle());
  }

  /**
   * Returns additional engine options for a prompt that is passed between servers. Fetches the prompt first if another
   * server holds it.
   */
  async #pass(
    plan: GenerationPlan,
    model: ResolvedModel,
    base: ServedBase,
  ): Promise<PassedPrompt["asked"] | null> {
    const exchange = this.#shared.exchange ?? null;
    const { request, caller, signal } = this.#asked;
    const { transfers, capabilities } = base.engine;
    if (request.passing === null || exchange === null) return null;
    if (capabilities.passesPrompts === true) {
      this.#passed = forwardParameters(request.passing, { exchange, entity: caller.entity });
      return this.#passed.asked;
    }
    if (transfers === undefined) return null;
    const { requestId } = request.identity;
    const context = { model, base, exchange, transfers, entity: caller.entity, requestId, signal };
    this.#passed = await passPrompt(request.passing, plan, context);
    this.#ends.push(this.#passed.forget);
    return this.#passed.asked;
  }

  /**
   * Resolves the model that the request names, and loads the engine of its base model. The engine stays loaded until
   * the request ends.
   */
  #acquireModel(): Promise<AcquiredModel> {
    const { request, caller, signal } = this.#asked;
    const refuse = (base: ServedBase): void => {
      refuseCalls(request, base);
      const { exchange = null } = this.#shared;
      refuseMissingFeatures(request, base.engine.capabilities, [
        ...findPassingFaults(request, base, { exchange, entity: caller.entity }),
        ...reasoningFaults(request, base),
      ]);
    };
    const asked = { name: request.identity.model, caller, signal, refuse, ends: this.#ends };
    return acquireModel(this.#shared, asked);
  }

  #record(plan: GenerationPlan, choiceCount: number, startedAt: Date): ChatRecording | null {
    const { recorder = null } = this.#shared;
    const { request, caller, attempt = null } = this.#asked;
    const model = present(this.#timeline.model, "the model of a request that is answered");
    if (recorder === null || !isRecorded(recorder, request, model, caller)) return null;
    return beginRecording(recorder, plan, model, { request, caller, choiceCount, startedAt, attempt });
  }

  /**
   * Counts the request's usage so far. Called while the answer is generated, so that metrics and limits include long
   * answers before they end.
   */
  #count(base: string): void {
    const { usage } = this.#timeline;
    this.#shared.metrics.used(base, usage, this.#counted);
    this.#counted = usage;
    this.#reservation?.use(usage.promptTokens + usage.completionTokens);
  }

  /** Translates an internal error into the error for the client. */
  async #errorOf(error: unknown): Promise<unknown> {
    const { model, plan } = this.#timeline;
    if (model === null || plan === null) return error;
    if (isBrokenModel(error)) {
      const { requestId } = this.#asked.request.identity;
      this.#shared.logger.error({ requestId, model: model.fingerprint }, "model computed no finite scores");
      return brokenModel(model.name, error);
    }
    const isAdapters = this.#header === null && error instanceof ServiceError && error.code === "conflict";
    return isAdapters
      ? await this.#shared.directory.adapterFault(model, error)
      : locateRefusal(error, this.#asked.request, plan.reply);
  }
}

function headerOf(
  { header, notices }: GenerationPlan,
  reader: DeltaReader,
  {
    createdAt,
    passed,
    stages,
  }: Pick<ChatHeader, "createdAt" | "stages"> & { readonly passed: PassedPrompt | null },
): ChatHeader {
  const { promptLogprobs, choiceCount, isPromptHeld, passedOn } = reader;
  const place = passed?.place ?? null;
  const seal = passed?.seal;
  const own = isPromptHeld && place !== null ? { ...place, tokenCount: header.promptTokenIds.length } : null;
  const heldAt = seal !== undefined && passedOn !== null ? { parameters: seal(passedOn) } : own;
  const unheld = place !== null && heldAt === null ? [noRoom] : [];
  const notice = [...notices, ...reader.notices, ...(passed?.notices ?? []), ...unheld].join("; ") || null;
  return { ...header, createdAt, promptLogprobs, choiceCount, heldAt, notice, stages };
}

const noRoom = "The prompt is not held for another server: prompts already held leave no room for it.";

/**
 * Returns a key that identifies a request among all running ones. The key includes the entity, so that a conflict
 * reveals nothing about the request ids of other entities.
 */
function runningId({ identity }: ChatRequest, { entity }: Caller): string {
  return JSON.stringify([entity, identity.requestId]);
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ServiceError({ code: "cancelled", message: "The request was cancelled." });
}

/** Returns the error for a call of a rollout that could not be recorded, and therefore is not part of the rollout. */
function unrecorded(): ServiceError {
  const message = "The call could not be recorded, so it is not part of its rollout. Send it again.";
  return new ServiceError({ code: "unavailable", message, retryAfterSeconds: 2 });
}

function alreadyRunning(requestId: string): ServiceError {
  const message = `The request id ${quoted(requestId)} is already running; send another id, or wait until it has ended.`;
  return new ServiceError({
    code: "conflict",
    faults: [chatFault("identity.requestId", { message, type: "value_error" })],
  });
}
