// Contract of engines. An engine takes and returns token ids, never text. The embedded engine and remote engines
// implement it.
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
 * LoRA adapter of one version of a trained model. An engine loads the adapter from its folder at the first use. The
 * adapter with a given id never changes.
 */
export interface AdapterReference {
  /**
   * Id of the form `<model id>:<version>`. All requests with this id use the same weights. If an adapter was prepared
   * but never became a version, another adapter with this id and a different hash may replace it.
   */
  readonly id: string;
  /** Folder with the adapter's files, in PEFT format. */
  readonly folder: string;
  /**
   * Base model that the adapter was trained on; absent if unknown. An engine whose base model has other weights
   * refuses the adapter with `conflict`.
   */
  readonly base?: RecordedBase;
  /**
   * SHA-256 of the adapter's files in hexadecimal form; absent if not recorded. If the files have another hash, the
   * engine refuses the adapter with the error `conflict`.
   */
  readonly hash?: string;
}

/** A request to generate tokens. It is plain data, so it can be sent to another process or machine. */
export interface GenerationRequest {
  /** Id of the request, which no other running request has. */
  readonly id: string;
  readonly prompt: {
    /** Token ids of the prompt: at least one, each in [0, vocabulary). */
    readonly tokenIds: readonly number[];
    /** Adapter to use; null for the base model itself. */
    readonly adapter: AdapterReference | null;
    /**
     * Asks the engine to hold the prompt's KV cache until another engine fetches it. Requires {@link Engine.transfers}.
     */
    readonly hold?: PromptHold;
    /**
     * Id under which the engine has received a KV cache from another engine. The cache belongs to this prompt, or to a
     * prompt with a common prefix.
     */
    readonly received?: string;
    /**
     * Parameters that the engine forwards unchanged to the servers behind it. Requires {@link
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
     * into the context.
     */
    readonly maxTokens: number;
    /**
     * Minimum number of tokens before a stop token may be drawn, at most `maxTokens`; 0 for no minimum. An answer that
     * completes its constraint earlier also ends earlier.
     */
    readonly minTokens: number;
    /** Ids of stop tokens. Each of them ends a choice, and is then the choice's last token. */
    readonly stopTokenIds: readonly number[];
  };
  readonly outputs: {
    /** Number of alternatives to each answer token; null if the request does not ask for log-probabilities. */
    readonly topLogprobCount: number | null;
    /**
     * Number of alternatives to each prompt token; null if the request does not ask for log-probabilities of the
     * prompt.
     */
    readonly promptLogprobCount: number | null;
    /**
     * Asks for the prompt's embedding instead of an answer. `choices` must then be one sample, and the engine draws no
     * token.
     */
    readonly embedding?: true;
  };
  readonly choices: ChoiceRequest;
  /**
   * Priority; requests with lower values run earlier. It is 0 unless the engine schedules by priority. A request may
   * interrupt requests with higher values; these continue later and give the same answers.
   */
  readonly priority: number;
  /**
   * Owner of the prompt's cache entries. Owners never use each other's entries: a response reports the number of cached
   * tokens, which would otherwise reveal other owners' prompts.
   */
  readonly cacheOwner: string;
  /**
   * Salt of the prompt's cache entries. Only prompts with the same salt use each other's entries. Null counts as a
   * salt, too: all prompts of the owner without a salt can use each other's entries.
   */
  readonly cacheSalt: string | null;
  /** True for a request of the server itself, such as a warm-up chat. The counts of the prefix cache leave it out. */
  readonly isInternal?: true;
}

/** Maximum number of answers that a request can ask for. */
export const choiceCountMax = 128;

/** Number of answers, and the method that generates them. */
export type ChoiceRequest =
  /** `count` independent samples (1 to {@link choiceCountMax}). The engine computes the prompt once for all of them. */
  | { readonly kind: "sample"; readonly count: number }
  /**
   * The `width` best answers of a beam search, best first.
   * * Each step extends every beam by its best `2 * width` tokens. It keeps the `width` most probable extended beams,
   * by the sum of raw log-probabilities. A token that ends an answer completes the beam.
   * * Answers are ranked by this sum divided by `length ** lengthPenalty`. `length` counts the tokens of prompt and
   * answer, without the final stop token.
   * * No token is drawn. The only parameters of `sampling` with an effect are `allowedTokenIds` and `badWords`.
   */
  | { readonly kind: "beam"; readonly width: number; readonly lengthPenalty: number };

/** Returns the number of choices that a request asks for. A beam search may find fewer. */
export function choiceCountOf({ choices }: Pick<GenerationRequest, "choices">): number {
  return choices.kind === "sample" ? choices.count : choices.width;
}

/** Log-probability of an impossible token. It stands for minus infinity, which JSON cannot express. */
export const logprobMin = -9999;

export interface TokenAlternative {
  readonly id: number;
  /** Natural logarithm of the token's probability before bias, penalties and temperature. */
  readonly logprob: number;
}

export interface GeneratedToken {
  readonly id: number;
  /** Log-probability as in {@link TokenAlternative}; NaN if the request does not ask for it. */
  readonly logprob: number;
  /** The most probable tokens in order; empty if the request does not ask for them. */
  readonly alternatives: readonly TokenAlternative[];
}

/** A token with its rank among all tokens by probability. */
export interface RankedToken extends TokenAlternative {
  /**
   * Number of tokens that are at least as probable as this one, including itself. The most probable token has rank 1.
   */
  readonly rank: number;
}

/** A token of the prompt, with its log-probability given all tokens before it. */
export interface PromptLogprob extends RankedToken {
  /** The most probable tokens in order. */
  readonly alternatives: readonly RankedToken[];
}

export type FinishReason = "stop" | "length";

/**
 * Events of a generation, in order. `choice` is the index of a choice, at least 0 and less than the number of choices.
 */
export type GenerationEvent =
  /** Notices about the constraint, one sentence each. If there are any, this is the first event. */
  | { readonly kind: "constraint-noted"; readonly notices: readonly string[] }
  /**
   * Log-probabilities of one part of the prompt's tokens. If the request asks for them, the engine sends such an event
   * whenever it has computed a part of the prompt, before all events of choices. Together, these events contain each
   * token of the prompt once and in order, with null for the first token.
   */
  | { readonly kind: "prompt-logprobs"; readonly tokens: readonly (PromptLogprob | null)[] }
  /** The engine has computed the prompt. Sent once, before all events of choices. */
  | {
      readonly kind: "prompt-computed";
      /**
       * Number of prompt tokens that the engine read from the cache; 0 if the request asks for log-probabilities of the
       * prompt.
       */
      readonly cachedTokenCount: number;
      /** True if the engine holds the prompt's KV cache, as requested. False if its memory is too small for that. */
      readonly isHeld?: boolean;
      /** Response to the passed parameters, from the servers behind the engine. */
      readonly passed?: PassedParameters;
      /**
       * Time in milliseconds that the admitted request waited for a slot, an adapter or a constraint, before the
       * computation of its prompt began. Absent if the engine cannot measure it.
       */
      readonly waitedMs?: number;
    }
  /**
   * Number of cached prompt tokens, from an engine that learns this number late. It replaces the number in
   * `prompt-computed`. Sent at most once, before the end of the last choice.
   */
  | { readonly kind: "prompt-cached"; readonly cachedTokenCount: number }
  /**
   * A beam search found fewer answers than requested. Choices with an index of at least `count` do not exist. Sent
   * before all tokens.
   */
  | { readonly kind: "choices-found"; readonly count: number }
  | { readonly kind: "tokens"; readonly choice: number; readonly tokens: readonly GeneratedToken[] }
  /**
   * Result of an embedding request: the input of the model's output projection at the prompt's last token, [D], not
   * normalized. This is the last event, and follows `prompt-computed`.
   */
  | { readonly kind: "embedding"; readonly values: Float32Array }
  /** A choice has ended. Sent once for each choice, after its tokens. Not sent for choices that were stopped. */
  | {
      readonly kind: "choice-finished";
      readonly choice: number;
      readonly reason: FinishReason;
      /** Stop token that ended the choice; null if no stop token ended it. */
      readonly stopTokenId: number | null;
    };

/** A request that is running on an engine. */
export interface Generation {
  /**
   * Events in batches, for a single reader. A batch has all events since the last read and is never empty; an event may
   * contain the tokens of several steps, and a choice's end is in the batch of its last tokens if both are ready. The
   * iteration ends after every choice has finished or was stopped.
   *
   * @throws ServiceError if the engine fails; `cancelled` after `abort`; `unsupported` if the constraint cannot be
   * enforced, or if it allows no next token before the answer may end
   */
  readonly events: AsyncIterable<readonly GenerationEvent[]>;
  /**
   * Ends one choice early; idempotent. The embedded engine frees the choice's slot within one step and sends no more
   * events about it. A remote engine may send a few more tokens, which the reader must drop.
   */
  stopChoice(choice: number): void;
  /** Ends the whole request, after which `events` throws `cancelled`. Idempotent. */
  abort(): void;
}

/** A kind of constraint, or an option for the whitespace and the properties of JSON in a constraint. */
export type ConstraintFeature =
  | `constraint-${ConstraintRule["kind"]}`
  | "constraint-compact-json"
  | "constraint-whitespace-pattern"
  | "constraint-closed-objects";

/** Features that an engine may have besides plain sampling with temperature, top-k, top-p, a seed and stop tokens. */
export type EngineFeature =
  | ConstraintFeature
  | SamplingFeature
  | "min-tokens"
  | "prompt-logprobs"
  | "beam"
  | "priority"
  | "cache-salt"
  | "embeddings";

/** Parts of a request that determine which features it needs. Engine requests and chat requests have these parts. */
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

/**
 * Options for the way in which JSON is written require a feature of the engine only if the constraint produces JSON.
 */
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

/** All features that constraints may need. */
export const constraintFeatures = Object.keys(constraintRules) as readonly ConstraintFeature[];

/** Returns the features that a constraint needs; an empty list if there is no constraint. */
export function constraintFeaturesOf(constraint: Constraint | null): readonly ConstraintFeature[] {
  return askedFor(constraintRules, { constraint });
}

function askedFor<Feature extends string, Request>(
  rules: Readonly<Record<Feature, (request: Request) => boolean>>,
  request: Request,
): readonly Feature[] {
  // Safe cast: the features are the record's keys.
  return (Object.keys(rules) as Feature[]).filter((feature) => rules[feature](request));
}

/** Capabilities of an engine. They are known before the engine starts, and never change. */
export interface EngineCapabilities {
  readonly features: ReadonlySet<EngineFeature>;
  /**
   * True if a request always gets the same tokens with bit-identical log-probabilities, regardless of other requests,
   * and choice `i` depends only on the request's seed and `i`. If false, the last digits of log-probabilities may
   * differ, and thus also sampled tokens.
   */
  readonly isExact: boolean;
  /** Present if the servers behind the engine can transfer prompts to each other. */
  readonly passesPrompts?: true;
  /** Names of the engine's logits processors; absent if it has none. */
  readonly processors?: readonly string[];
}

/** Limits of the model that a running engine serves. */
export interface EngineLimits {
  /** Maximum number of tokens of prompt and answer together. */
  readonly contextLength: number;
  /** Number of token ids for which the engine computes logits. */
  readonly vocabularySize: number;
  /** Number of values in an embedding; absent if the engine computes no embeddings. */
  readonly embeddingSize?: number;
  /** Maximum number of alternatives to a token of prompt or answer; absent if it is the size of the vocabulary. */
  readonly logprobCountMax?: number;
}

export type EngineState =
  /**
   * Sentence that gives the reason for the state. An `unloaded` engine uses no memory; a request changes its state to
   * `loading` and then to `ready`.
   */
  | {
      readonly kind: "unloaded" | "loading" | "starting" | "restarting" | "stopped" | "failed";
      readonly reason: string;
    }
  | {
      readonly kind: "ready";
      readonly limits: EngineLimits;
      /** SHA-256 of the model's weights in hexadecimal form; absent if the engine does not know it. */
      readonly weights?: string;
    };

/** A quantity that an engine measures. */
export interface EngineGauge {
  /** Name in lower case with underscores and a unit at the end, like that of a metric. */
  readonly name: string;
  readonly value: number;
  /** Maximum that the value can have; null if there is none. */
  readonly limit: number | null;
  /** Description of the quantity in one sentence. */
  readonly about: string;
  /**
   * Labels that identify a part of the engine, if the engine measures the quantity for several parts. All gauges with
   * the same name have the same labels.
   */
  readonly labels?: Readonly<Record<string, string>>;
  /** True if the value never decreases until the engine is replaced. */
  readonly isTotal?: boolean;
}

/** State of an engine at one moment. */
export interface EngineStatus {
  readonly state: EngineState;
  readonly runningCount: number;
  readonly waitingCount: number;
  readonly waitingCountMax: number;
  /**
   * Returns the gauges of this kind of engine. Their names are the same in every state. This is a function, because
   * every request reads the status, but few of its readers need gauges.
   */
  readonly gauges: () => readonly EngineGauge[];
}

export interface Engine extends Service {
  readonly capabilities: EngineCapabilities;
  /**
   * Functions that transfer prompts between engines; absent if this engine can neither hold a prompt for another engine
   * nor receive one.
   */
  readonly transfers?: PromptTransfers;
  /**
   * Starts to generate the answers to a request.
   *
   * @throws ServiceError `unavailable` if the engine is not running; `unsupported` for a missing feature, an
   * unavailable combination, or more tokens than the engine can ever hold; `conflict` if a request with this id is
   * running; `overloaded` if the queue is full
   */
  submit(request: GenerationRequest): Generation;
  /**
   * Returns the maximum number of tokens of prompt and answer together for a request with these choices, at most the
   * context length. Choices that run at the same time must fit into memory together. The result is 0 if so many choices
   * can never run, or if the engine is not running.
   */
  roomFor(choices: ChoiceRequest): number;
  /**
   * Prepares an adapter. Resolves when every replica can answer requests with it. Called before a version becomes the
   * newest, so that the first request need not wait; `submit` also accepts adapters that are not prepared.
   *
   * @throws ServiceError `conflict` if the engine would refuse requests with the adapter, `unavailable` if the engine
   * is not running
   */
  prepareAdapter(reference: AdapterReference): Promise<void>;
  /** Unloads an adapter once no request uses it. Running requests continue. */
  dropAdapter(id: string): void;
  status(): EngineStatus;
}
