// The contract between whoever wants tokens and whoever computes them: token ids in, token ids out.
// The embedded engine and remote engines implement it. Text never passes here.
import type { SamplingParameters } from "./sampling.ts";
import type { Service } from "./lifecycle.ts";

/** A LoRA adapter of one trained version: loaded from its folder at first use, immutable under its id. */
export interface AdapterReference {
  /** `<model id>:<version>`; never reused for other weights. */
  readonly id: string;
  /** A PEFT folder. */
  readonly folder: string;
}

export interface GenerationRequest {
  /** Unique among the running requests. */
  readonly id: string;
  /** At least one id, each in [0, vocabulary). */
  readonly promptTokenIds: readonly number[];
  /** Null serves the base model itself. */
  readonly adapter: AdapterReference | null;
  readonly sampling: SamplingParameters;
  /** 1 to 128; the prompt is computed once for all. */
  readonly choiceCount: number;
  /** At least 1; prompt and answer together fit the context length. */
  readonly maxTokens: number;
  /** Any of these ends a choice, and is its last token. */
  readonly stopTokenIds: readonly number[];
  /** How many alternatives each token carries; null where log-probabilities are not wanted. */
  readonly topLogprobCount: number | null;
}

export interface TokenAlternative {
  readonly id: number;
  /** Natural logarithm of the raw probability: before bias, penalties and temperature. */
  readonly logprob: number;
}

export interface GeneratedToken {
  readonly id: number;
  /** As in {@link TokenAlternative}; NaN where the request wanted none. */
  readonly logprob: number;
  /** The true top k in order; empty where the request wanted none. */
  readonly alternatives: readonly TokenAlternative[];
}

export type FinishReason = "stop" | "length";

/** What a generation tells, in order; `choice` is the index in [0, choiceCount). */
export type GenerationEvent =
  | { readonly kind: "prompt-computed"; readonly cachedTokenCount: number }
  | { readonly kind: "tokens"; readonly choice: number; readonly tokens: readonly GeneratedToken[] }
  | {
      readonly kind: "choice-finished";
      readonly choice: number;
      readonly reason: FinishReason;
      readonly stopTokenId: number | null;
    };

/** A running request. */
export interface Generation {
  /** Ends after every choice has finished or been stopped; throws a ServiceError when the engine fails or `abort` was called. */
  readonly events: AsyncIterable<GenerationEvent>;
  /** Ends one choice early; it tells nothing more, its slot is free within one step. Idempotent. */
  stopChoice(choice: number): void;
  /** Ends the whole request; `events` throws `cancelled`. Idempotent. */
  abort(): void;
}

export type EngineState = "starting" | "ready" | "restarting" | "stopped" | "failed";

/** What an engine holds and does at this moment; every number has a limit beside it. */
export interface EngineStatus {
  readonly state: EngineState;
  /** Why it is not ready, for people; empty when ready. */
  readonly reason: string;
  readonly runningCount: number;
  readonly waitingCount: number;
  readonly waitingCountMax: number;
  readonly kvCacheBytes: number;
  readonly kvCacheBytesMax: number;
  readonly restartCount: number;
}

export interface Engine extends Service {
  /** Tokens in prompt and answer together. */
  readonly contextLength: number;
  /** How many ids the logits cover. */
  readonly vocabularySize: number;
  /**
   * Starts a generation. Throws `conflict` when the id is running, `overloaded` when the queue is
   * full, `unavailable` when the engine is not up.
   */
  submit(request: GenerationRequest): Generation;
  /** Forgets an adapter once nothing uses it; requests already running go on. */
  dropAdapter(id: string): void;
  status(): EngineStatus;
}
