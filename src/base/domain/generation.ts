// Contract of engines, which take and return token ids, never text. The embedded engine and remote engines implement
// it.
import type { Constraint, ConstraintOptions, ConstraintRule } from "./constraint.ts";
import type { Service } from "./lifecycle.ts";
import type { RecordedBase } from "./model.ts";
import type { PassedParameters, PromptHold, PromptTransfers } from "./prompt-transfer.ts";
import {
  askingParameters,
  samplingFeatures,
  type SamplingFeature,
  type SamplingParameters,
} from "./sampling.ts";

/**
 * LoRA adapter of one version of a trained model. An engine loads it from its folder when it is first used. The
 * adapter with a given id never changes.
 */
export interface AdapterReference {
  /**
   * `<model id>:<version>`. All requests with this id use the same weights. If an adapter was prepared but never
   * became a version, another adapter with the same id and a different hash may replace it.
   */
  readonly id: string;
  /** Folder of the adapter, in PEFT format. */
  readonly folder: string;
  /**
   * Base model on which the adapter was trained; absent if unknown. An engine with other weights refuses the adapter
   * with `conflict`.
   */
  readonly base?: RecordedBase;
  /** Hex SHA-256 of the adapter's files; absent if not recorded. An engine refuses a mismatch with `conflict`. */
  readonly hash?: string;
}

/** A generation request. It is plain data, so it can be sent to another process or machine. */
export interface GenerationRequest {
  /** Id that is unique among the running requests. */
  readonly id: string;
  readonly prompt: {
    /** Token ids of the prompt: at least one, each in [0, vocabulary). */
    readonly tokenIds: readonly number[];
    /** Adapter to use; null for the base model itself. */
    readonly adapter: AdapterReference | null;
    /** Asks the engine to hold the prompt's KV cache for another engine; requires {@link Engine.transfers}. */
    readonly hold?: PromptHold;
    /**
     * Id under which the engine has received a KV cache from another engine: that of this prompt, or of a prompt with
     * a common prefix.
     */
    readonly received?: string;
    /**
     * Parameters that are forwarded unchanged to the servers behind the engine; requires {@link
     * EngineCapabilities.passesPrompts}.
     */
    readonly passed?: PassedParameters;
  };
  readonly sampling: SamplingParameters;
  /** Constraint on the answer; null if unconstrained. */
  readonly constraint: Constraint | null;
  readonly stopping: {
    /**
     * Maximum number of answer tokens: at least 1, or 0 for an embedding request. Prompt and answer together must fit
     * the context length.
     */
    readonly maxTokens: number;
    /**
     * Minimum number of tokens before a stop token may be drawn, at most `maxTokens`; 0 for no minimum. If the answer
     * completes its constraint earlier, it ends earlier.
     */
    readonly minTokens: number;
    /** Stop tokens: each of these token ids ends a choice, and is the choice's last token. */
    readonly stopTokenIds: readonly number[];
  };
  readonly outputs: {
    /** Number of alternatives for each token; null if log-probabilities are not requested. */
    readonly topLogprobCount: number | null;
    /** Number of alternatives for each prompt token; null if their log-probabilities are not requested. */
    readonly promptLogprobCount: number | null;
    /** Requests the prompt's embedding instead of an answer. `choices` must then be one sample, and no token is drawn. */
    readonly embedding?: true;
  };
  readonly choices: ChoiceRequest;
  /**
   * Priority; lower values run earlier. It is 0 unless the engine schedules by priority. A request may preempt
   * requests with higher values; these resume later and give the same answers.
   */
  readonly priority: number;
  /**
   * Owner of the prompt's cache entries. Owners never share entries, because a response reports the number of cached
   * tokens, which would reveal other owners' prompts.
   */
  readonly cacheOwner: string;
  /**
   * Salt of the prompt's cache entries. Only prompts with the same salt share entries. Null is a salt too: it is
   * common to all prompts of the owner without a salt.
   */
  readonly cacheSalt: string | null;
}

/** Maximum number of answers per request. */
export const choiceCountMax = 128;

/** Number of answers, and the method that generates them. */
export type ChoiceRequest =
  /** `count` (1 to {@link choiceCountMax}) independent samples. The prompt is computed once for all of them. */
  | { readonly kind: "sample"; readonly count: number }
  /**
   * The `width` best answers of a beam search, best first.
   *
   * * Each step extends every beam by its best `2 * width` tokens. It keeps the `width` most probable extended beams,
   *   by the sum of raw log-probabilities. A token that ends an answer completes the beam.
   * * Answers are ranked by this sum divided by `length ** lengthPenalty`. `length` counts the tokens of prompt and
   *   answer, without the final stop token.
   * * No token is drawn. Of `sampling`, only `allowedTokenIds` and `badWords` apply.
   */
  | { readonly kind: "beam"; readonly width: number; readonly lengthPenalty: number };

/** Returns the number of requested choices; beam search may find fewer. */
export function choiceCountOf({ choices }: Pick<GenerationRequest, "choices">): number {
  return choices.kind === "sample" ? choices.count : choices.width;
}

/** Value that represents the log-probability of an impossible token, since JSON has no infinity. */
export const logprobMin = -9999;

export interface TokenAlternative {
  readonly id: number;
  /** Natural logarithm of the token's probability before bias, penalties and temperature. */
  readonly logprob: number;
}

export interface GeneratedToken {
  readonly id: number;
  /** Log-probability as in {@link TokenAlternative}; NaN if not requested. */
  readonly logprob: number;
  /** The k most probable tokens in order; empty if not requested. */
  readonly alternatives: readonly TokenAlternative[];
}

/** A token with its rank among all tokens. */
export interface RankedToken extends TokenAlternative {
  /** Number of tokens that are at least as probable, including itself; 1 is the most probable. */
  readonly rank: number;
}

/** A token of the prompt with its log-probability, given all tokens before it. */
export interface PromptLogprob extends RankedToken {
  /** The k most probable tokens in order. */
  readonly alternatives: readonly RankedToken[];
}

export type FinishReason = "stop" | "length";

/** Events of a generation, in order; `choice` is the index in [0, choice count). */
export type GenerationEvent =
  /** Notices about the constraint, one sentence each. This is the first event; absent if there are no notices. */
  | { readonly kind: "constraint-noted"; readonly notices: readonly string[] }
  /**
   * Log-probabilities of the next tokens of the prompt. Sent only if requested, after each part of the prompt is
   * computed and before all events of choices. Together, these events contain each token of the prompt once, with null
   * for the first token.
   */
  | { readonly kind: "prompt-logprobs"; readonly tokens: readonly (PromptLogprob | null)[] }
  /** The prompt is computed. Sent once, before all events of choices. */
  | {
      readonly kind: "prompt-computed";
      /** Number of prompt tokens that were read from the cache; 0 if log-probabilities of the prompt were requested. */
      readonly cachedTokenCount: number;
      /** True if the prompt's KV cache is held, as requested. False if memory is too small to hold it. */
      readonly isHeld?: boolean;
      /** Response of the servers behind the engine to the passed parameters. */
      readonly passed?: PassedParameters;
      /**
       * Time in milliseconds from the request's admission to the start of the prompt's computation, during which it
       * waited for a slot, an adapter or a constraint. Absent if the engine cannot measure it.
       */
      readonly waitedMs?: number;
    }
  /**
   * Number of cached prompt tokens, from an engine that learns it late. It replaces the number in `prompt-computed`.
   * Sent at most once, before the end of the last choice.
   */
  | { readonly kind: "prompt-cached"; readonly cachedTokenCount: number }
  /**
   * A beam search found fewer answers than requested: choices with an index of at least `count` do not exist. Sent
   * before all tokens.
   */
  | { readonly kind: "choices-found"; readonly count: number }
  | { readonly kind: "tokens"; readonly choice: number; readonly tokens: readonly GeneratedToken[] }
  /**
   * Result of an embedding request: the input of the model's output projection at the prompt's last token, [D], not
   * normalized. It is the last event, and only `prompt-computed` and events before that precede it.
   */
  | { readonly kind: "embedding"; readonly values: Float32Array }
  /** A choice has ended. Sent once for each choice after its tokens, except for stopped choices. */
  | {
      readonly kind: "choice-finished";
      readonly choice: number;
      readonly reason: FinishReason;
      /** Stop token that ended the choice; null if no stop token did. */
      readonly stopTokenId: number | null;
    };

/** A running request. */
export interface Generation {
  /**
   * Events in batches, for a single reader; each batch contains the events since the last read and is never empty. One
   * event may contain the tokens of several steps, and a choice's finish is in the same batch as its last tokens if
   * both are ready. Ends after every choice has finished or was stopped.
   *
   * @throws ServiceError if the engine fails; `cancelled` after `abort`; `unsupported` if the constraint cannot be
   * enforced, or if it allows no next token before the answer may end
   */
  readonly events: AsyncIterable<readonly GenerationEvent[]>;
  /**
   * Ends one choice early; idempotent. The embedded engine frees the choice's slot within one step and sends no more
   * events about it. A remote engine may send a few more tokens, which the reader drops together with the rest of the
   * current batch.
   */
  stopChoice(choice: number): void;
  /** Ends the whole request; `events` throws `cancelled`. Idempotent. */
  abort(): void;
}

/** A kind of constraint, or an option for JSON whitespace and properties in it. */
export type ConstraintFeature =
  | `constraint-${ConstraintRule["kind"]}`
  | "constraint-compact-json"
  | "constraint-whitespace-pattern"
  | "constraint-closed-objects";

/** Features of an engine beyond plain sampling with temperature, top-k, top-p, a seed and stop tokens. */
export type EngineFeature =
  | ConstraintFeature
  | SamplingFeature
  | "min-tokens"
  | "prompt-logprobs"
  | "beam"
  | "priority"
  | "cache-salt"
  | "embeddings";

/** Parts of an engine's request or a chat request that determine the features it needs. */
export type FeatureRequest = Pick<GenerationRequest, "constraint" | "choices" | "priority" | "cacheSalt"> & {
  readonly sampling: Parameters<typeof askingParameters>[0];
  readonly stopping: Pick<GenerationRequest["stopping"], "minTokens">;
  readonly outputs: Pick<GenerationRequest["outputs"], "promptLogprobCount" | "embedding">;
};

type Constrained = Pick<GenerationRequest, "constraint">;

const holdsTo =
  (kind: ConstraintRule["kind"]) =>
  ({ constraint }: Constrained): boolean =>
    constraint?.kind === kind;

/** Options for the notation of JSON require a feature of the engine only if the constraint produces JSON. */
const writesJson =
  (isAsked: (options: ConstraintOptions) => boolean) =>
  ({ constraint }: Constrained): boolean =>
    constraint !== null &&
    (constraint.kind.startsWith("json") || constraint.kind === "structural-tag") &&
    isAsked(constraint);

const constraintRules: Readonly<Record<ConstraintFeature, (request: Constrained) => boolean>> = {
  "constraint-json-schema": holdsTo("json-schema"),
  "constraint-json-object": holdsTo("json-object"),
  "constraint-regex": holdsTo("regex"),
  "constraint-choice": holdsTo("choice"),
  "constraint-grammar": holdsTo("grammar"),
  "constraint-structural-tag": holdsTo("structural-tag"),
  "constraint-compact-json": writesJson(({ allowsAnyWhitespace }) => !allowsAnyWhitespace),
  "constraint-whitespace-pattern": writesJson(({ whitespacePattern }) => whitespacePattern !== null),
  "constraint-closed-objects": writesJson(({ allowsAdditionalProperties }) => !allowsAdditionalProperties),
};

const otherRules: Readonly<
  Record<Exclude<EngineFeature, ConstraintFeature | SamplingFeature>, (request: FeatureRequest) => boolean>
> = {
  "min-tokens": ({ stopping }) => stopping.minTokens > 0,
  "prompt-logprobs": ({ outputs }) => outputs.promptLogprobCount !== null,
  beam: ({ choices }) => choices.kind === "beam",
  priority: ({ priority }) => priority !== 0,
  "cache-salt": ({ cacheSalt }) => cacheSalt !== null,
  embeddings: ({ outputs }) => outputs.embedding === true,
};

/** Returns the features that a request needs, without duplicates. */
export function featuresOf(request: FeatureRequest): readonly EngineFeature[] {
  return [
    ...constraintFeaturesOf(request.constraint),
    ...new Set(askingParameters(request.sampling).map((parameter) => samplingFeatures[parameter])),
    ...askedFor(otherRules, request),
  ];
}

/** All kinds of constraints. */
export const constraintFeatures = Object.keys(constraintRules) as readonly ConstraintFeature[];

/** Returns the features that a constraint needs; an empty list if there is no constraint. */
export function constraintFeaturesOf(constraint: Constraint | null): readonly ConstraintFeature[] {
  return askedFor(constraintRules, { constraint });
}

function askedFor<Feature extends string, Request>(
  rules: Readonly<Record<Feature, (request: Request) => boolean>>,
  request: Request,
): readonly Feature[] {
  // Safe cast: the record's keys are the features.
  return (Object.keys(rules) as Feature[]).filter((feature) => rules[feature](request));
}

/** Capabilities of an engine; constant, and known before it starts. */
export interface EngineCapabilities {
  readonly features: ReadonlySet<EngineFeature>;
  /**
   * True if a request always gets the same tokens with bit-identical log-probabilities, whichever other requests run,
   * and choice `i` depends only on the request's seed and `i`. If false, the last digits of log-probabilities may
   * differ, and with them sampled tokens.
   */
  readonly isExact: boolean;
  /** Present if the servers behind the engine transfer prompts between each other. */
  readonly passesPrompts?: true;
  /** Names of the engine's logits processors; absent if it has none. */
  readonly processors?: readonly string[];
}

/** Limits of the model of a running engine. */
export interface EngineLimits {
  /** Maximum number of tokens in prompt and answer together. */
  readonly contextLength: number;
  /** Number of token ids for which the engine computes logits. */
  readonly vocabularySize: number;
  /** Length of an embedding; absent if the engine computes no embeddings. */
  readonly embeddingSize?: number;
  /** Maximum number of alternatives per token of prompt or answer; absent if the whole vocabulary is available. */
  readonly logprobCountMax?: number;
}

export type EngineState =
  /**
   * Human-readable reason for the state. An `unloaded` engine uses no memory; a request changes its state to `loading`
   * and then to `ready`.
   */
  | {
      readonly kind: "unloaded" | "loading" | "starting" | "restarting" | "stopped" | "failed";
      readonly reason: string;
    }
  | {
      readonly kind: "ready";
      readonly limits: EngineLimits;
      /** Hex SHA-256 of the model's weights; absent if the engine does not know it. */
      readonly weights?: string;
    };

/** A measured quantity of an engine. */
export interface EngineGauge {
  /** Lower case with underscores and a unit at the end, like the name of a metric. */
  readonly name: string;
  readonly value: number;
  /** Maximum of the value; null if unbounded. */
  readonly limit: number | null;
  /** Description of the gauge for people, in one sentence. */
  readonly about: string;
  /**
   * Labels that identify the part of the engine that the gauge describes, if the engine has several. All gauges with
   * the same name have the same labels.
   */
  readonly labels?: Readonly<Record<string, string>>;
  /** True if the value only increases until the engine is replaced. */
  readonly isTotal?: boolean;
}

/** Momentary state of an engine. */
export interface EngineStatus {
  readonly state: EngineState;
  readonly runningCount: number;
  readonly waitingCount: number;
  readonly waitingCountMax: number;
  /**
   * Returns the gauges of this kind of engine. Their names are the same in every state. This is a function, because
   * every request reads the status, but few read gauges.
   */
  readonly gauges: () => readonly EngineGauge[];
}

export interface Engine extends Service {
  readonly capabilities: EngineCapabilities;
  /** Transfer of prompts; absent if the engine neither holds prompts for other engines nor receives prompts from them. */
  readonly transfers?: PromptTransfers;
  /**
   * Starts a generation.
   *
   * @throws ServiceError `unavailable` if the engine is not running; `unsupported` for a missing feature, an
   * unavailable combination, or more tokens than the engine can ever hold; `conflict` if a request with this id is
   * running; `overloaded` if the queue is full
   */
  submit(request: GenerationRequest): Generation;
  /**
   * Returns the maximum number of tokens in prompt and answer together with which a request for these choices can run.
   * Choices that run at the same time must fit into memory together. The result is at most the context length; it is 0
   * if so many choices can never run, or if the engine is not running.
   */
  roomFor(choices: ChoiceRequest): number;
  /**
   * Prepares an adapter; resolves when every replica can answer requests with it. Called before a version becomes the
   * newest, so that the first request does not wait. `submit` also accepts adapters that were not prepared.
   *
   * @throws ServiceError `conflict` as requests with the adapter would, `unavailable` if the engine is not running
   */
  prepareAdapter(reference: AdapterReference): Promise<void>;
  /** Unloads an adapter once nothing uses it; running requests continue. */
  dropAdapter(id: string): void;
  status(): EngineStatus;
}
