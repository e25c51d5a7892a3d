// The open generations of one engine. Checks and accepts requests, and counts requests that are still queued; the
// engine itself produces the answers.
import {
  choiceCountOf,
  type EngineCapabilities,
  type EngineState,
  type EngineStatus,
  type GenerationRequest,
  featuresOf,
  type EngineLimits,
} from "../../base/domain/generation.ts";
import { ServiceError, quoted } from "../../base/domain/service-error.ts";
import { GenerationStream, type StreamOptions } from "./generation-stream.ts";
import { assert } from "../../base/domain/assert.ts";

/** Delay after which callers should retry, unless a better estimate is known. */
const retryAfterSeconds = 2;

export class Generations {
  readonly #capabilities: EngineCapabilities;
  readonly #waitingCountMax: number;
  /** Streams of open generations by request id. */
  readonly #streams = new Map<string, GenerationStream>();
  #waitingCount = 0;

  constructor(capabilities: EngineCapabilities, waitingCountMax: number) {
    this.#capabilities = capabilities;
    this.#waitingCountMax = waitingCountMax;
  }

  get isEmpty(): boolean {
    return this.#streams.size === 0;
  }

  /**
   * Accepts a request, and returns its stream. Throws the errors that the engine contract defines for `submit`.
   *
   * @param room result of {@link Engine.roomFor} for the request's choices
   */
  open(
    request: GenerationRequest,
    { state, room }: { readonly state: EngineState; readonly room: number },
    listener: Partial<Omit<StreamOptions, "choiceCount">>,
  ): GenerationStream {
    if (state.kind !== "ready")
      throw unavailable(state.kind === "failed" ? "The engine is down." : state.reason);
    checkRequest(request, this.#capabilities, { limits: state.limits, room });
    const { id } = request;
    if (this.#streams.has(id)) {
      throw new ServiceError({ code: "conflict", message: `A request with the id ${id} is running.` });
    }
    if (this.#waitingCount >= this.#waitingCountMax) {
      const message = `${this.#waitingCountMax} requests are waiting already; try again later.`;
      throw new ServiceError({ code: "overloaded", message, retryAfterSeconds });
    }
    const stream = new GenerationStream({
      ...listener,
      choiceCount: choiceCountOf(request),
      onBegin: () => {
        this.#waitingCount -= 1;
        listener.onBegin?.();
      },
      onEnd: () => {
        if (!stream.hasBegun) this.#waitingCount -= 1;
        this.#streams.delete(id);
        listener.onEnd?.();
      },
    });
    this.#waitingCount += 1;
    this.#streams.set(id, stream);
    return stream;
  }

  /** Fails all open generations with the error `unavailable`. */
  failAll(message: string): void {
    for (const stream of this.#streams.values()) stream.fail(unavailable(message));
  }

  status(state: EngineState, gauges: EngineStatus["gauges"]): EngineStatus {
    const waitingCount = this.#waitingCount;
    return {
      state,
      runningCount: this.#streams.size - waitingCount,
      waitingCount,
      waitingCountMax: this.#waitingCountMax,
      gauges,
    };
  }
}

/**
 * Returns the error for an engine that cannot serve at present. With the field `obstacle`, the API reports the reason
 * to callers.
 */
export function unavailable(message: string): ServiceError {
  return new ServiceError({ code: "unavailable", obstacle: "unloaded-base", message, retryAfterSeconds });
}

// Checks a request before an engine accepts it, so that no step gets a request that it cannot compute. Callers check
// requests earlier, with messages that use their own field names.

/**
 * Requires that the engine can compute the request.
 *
 * @param engine.room result of {@link Engine.roomFor} for the request's choices
 * @throws ServiceError `unsupported` for a feature that the engine lacks, and for more than its limits and memory
 * allow; asserts the caller's duties: token ids in the vocabulary, lengths within the context
 */
function checkRequest(
  request: GenerationRequest,
  capabilities: EngineCapabilities,
  { limits, room }: { readonly limits: EngineLimits; readonly room: number },
): void {
  const { tokenIds } = request.prompt;
  const { maxTokens } = request.stopping;
  const { allowedTokenIds, badWords, logitBias } = request.sampling;
  const { contextLength, vocabularySize, logprobCountMax = vocabularySize } = limits;
  assert(tokenIds.length > 0, "a prompt has at least one token");
  const isEmbedded = request.outputs.embedding === true;
  assert(
    isEmbedded ? maxTokens === 0 : maxTokens >= 1,
    "a request asks for at least one token, or for an embedding",
  );
  assert(choiceCountOf(request) >= 1, "a request asks for at least one choice");
  assert(!isEmbedded || asksOnlyForEmbedding(request), "an embedding is all that a request asks for");
  assert(tokenIds.length + maxTokens <= contextLength, "prompt and answer fit the context length");
  const isToken = (id: number): boolean => Number.isInteger(id) && id >= 0 && id < vocabularySize;
  assert(tokenIds.every(isToken), "prompt tokens are in the vocabulary");
  assert(allowedTokenIds?.every(isToken) ?? true, "allowed tokens are in the vocabulary");
  assert(
    logitBias.every(([id]) => isToken(id)),
    "biased tokens are in the vocabulary",
  );
  assert(
    badWords.every((word) => word.length > 0 && word.every(isToken)),
    "bad words have tokens, all in the vocabulary",
  );
  const missing = featuresOf(request).filter((feature) => !capabilities.features.has(feature));
  if (missing.length > 0) {
    throw unsupported(`This engine does not offer ${missing.join(", ")}; leave it out of the request.`);
  }
  const { topLogprobCount, promptLogprobCount } = request.outputs;
  const logprobCount = Math.max(topLogprobCount ?? 0, promptLogprobCount ?? 0);
  if (logprobCount > logprobCountMax)
    throw unsupported(
      `The request asks for ${logprobCount} log-probabilities of each token; this engine gives ${logprobCountMax}.`,
    );
  const { processors = [] } = capabilities;
  const unknown = request.sampling.processors.find(({ name }) => !processors.includes(name));
  if (unknown !== undefined) {
    throw unsupported(
      `This engine has no logits processor ${quoted(unknown.name)}; it has ${processors.join(", ")}.`,
    );
  }
  if (tokenIds.length + maxTokens <= room) return;
  const beams = request.choices.kind === "beam" ? ` for each of ${request.choices.width} beams` : "";
  throw unsupported(
    room === 0
      ? `This engine has no room for ${choiceCountOf(request)} beams at the same time; ask for fewer.`
      : `The prompt of ${tokenIds.length} tokens and an answer of up to ${maxTokens} need more memory for keys and values ` +
          `than this engine has: it holds at most ${room} tokens of prompt and answer${beams}. Ask for fewer tokens.`,
  );
}

function unsupported(message: string): ServiceError {
  return new ServiceError({ code: "unsupported", message });
}

/**
 * True if an embedding request may have these parameters: one choice, no constraint, no log-probabilities of the
 * prompt, and no prompt transfer.
 */
function asksOnlyForEmbedding({ choices, constraint, outputs, prompt }: GenerationRequest): boolean {
  const isOne = choices.kind === "sample" && choices.count === 1;
  const passes = prompt.hold !== undefined || prompt.received !== undefined;
  return isOne && constraint === null && outputs.promptLogprobCount === null && !passes;
}
