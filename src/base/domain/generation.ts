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
 * LoRA adapter of one trained version. Engines load it from its folder on first use; the adapter under an id is
 * immutable.
 */
export interface AdapterReference {
  /**
   * `<model id>:<version>`. Requests with one id always have the same weights. An adapter that was prepared but never
   * became a version may be followed by another with the same id and a different hash.
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
    /** Id under which the engine received the KV cache of this prompt, or of a prompt with a common prefix. */
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
     * Maximum number of answer tokens: at least 1, or 0 for an embedding. Prompt and answer together must fit the
     * context length.
     */
    readonly maxTokens: number;
    /**
     * Minimum number of tokens before a stop token may be drawn, at most `maxTokens`; 0 is off. An answer ends earlier
     * if its constraint is complete.
     */
    readonly minTokens: number;
    /** Token ids of which each ends a choice. The stop token is the choice's last token. */
    readonly stopTokenIds: readonly number[];
  };
  readonly outputs: {
    /** Number of alternatives for each token; null if log-probabilities are not requested. */
    readonly topLogprobCount: number | null;
    /** Number of alternatives for each prompt token; null if their log-probabilities are not requested. */
    readonly promptLogprobCount: number | null;
    /** Requests the prompt's embedding instead of an answer: `choices` must be one draw, and no token is drawn. */
    readonly embedding?: true;
  };
  readonly choices: ChoiceRequest;
  /**
   * Priority; lower values run earlier. It is 0 unless the engine schedules by priority. A request may preempt
   * requests with higher values, which resume later with the same answers.
   */
  readonly priority: number;
  /**
   * Owner of the prompt's cache entries. They are never shared between owners, because responses report the number of
   * cached tokens.
   */
  readonly cacheOwner: string;
  /**
   * Salt of the prompt's cache entries, which are shared only between prompts with the same salt. Null shares them
   * with the owner's other prompts without a salt.
   */
  readonly cacheSalt: string | null;
}

/** Maximum number of answers per request. */
export const choiceCountMax = 128;

/** Number of answers, and the method that generates them. */
export type ChoiceRequest =
  /** `count` (1 to {@link choiceCountMax}) independent draws. The prompt is computed once for all of them. */
  | { readonly kind: "sample"; readonly count: number }
  /**
   * The `width` best answers of a beam search, best first.
   *
   * * Each step extends every beam by its best `2 * width` tokens and keeps the `width` most probable beginnings, by
   *   the sum of raw log-probabilities. A token that ends an answer completes it.
   * * Answers are ranked by their sum divided by `length ** lengthPenalty`, where `length` counts prompt and answer
   *   without the final stop token.
   * * No token is drawn. Only `allowedTokenIds` and `badWords` of `sampling` apply.
   */
  | { readonly kind: "beam"; readonly width: number; readonly lengthPenalty: number };

/** Returns the number of requested choices; beam search may find fewer. */
export function choiceCountOf({ choices }: Pick<GenerationRequest, "choices">): number {
  return choices.kind === "sample" ? choices.count : choices.width;
}

/** Log-probability of an impossible token, since JSON has no infinity. */
export const logprobMin = -9999;

export interface TokenAlternative {
  readonly id: number;
  /** Natural logarithm of the raw probability: before bias, penalties and temperature. */
  readonly logprob: number;
}

export interface GeneratedToken {
  readonly id: number;
  /** As in {@link TokenAlternative}; NaN if not requested. */
  readonly logprob: number;
  /** The true top k in order; empty if not requested. */
  readonly alternatives: readonly TokenAlternative[];
}

/** A token with its rank among all tokens. */
export interface RankedToken extends TokenAlternative {
  /** Number of tokens that are at least as probable, including itself; 1 is the most probable. */
  readonly rank: number;
}

/** A token of the prompt with its log-probability, given all tokens before it. */
export interface PromptLogprob extends RankedToken {
  /** The true top k in order. */
  readonly alternatives: readonly RankedToken[];
}

export type FinishReason = "stop" | "length";

/** Events of a generation, in order; `choice` is the index in [0, choice count). */
export type GenerationEvent =
  /** First, and only if there are notices about the constraint: one sentence each. */
  | { readonly kind: "constraint-noted"; readonly notices: readonly string[] }
  /**
   * Only if requested, and before all that follow: the next tokens of the prompt, after each computed part. Together
   * these events hold every token of the prompt once, with null for the first.
   */
  | { readonly kind: "prompt-logprobs"; readonly tokens: readonly (PromptLogprob | null)[] }
  /** Once, before all events of a choice. */
  | {
      readonly kind: "prompt-computed";
      /** Tokens of the prompt that were cached; 0 if their log-probabilities were requested. */
      readonly cachedTokenCount: number;
      /** True if the prompt is held, as requested; there may be no room for it. */
      readonly isHeld?: boolean;
      /** Response of the servers behind the engine to the passed parameters. */
      readonly passed?: PassedParameters;
      /**
       * Time from admission until the prompt was begun: waiting for a slot, an adapter, a constraint. Absent if the
       * engine cannot measure it.
       */
      readonly waitedMs?: number;
    }
  /**
   * At most once, before the end of the last choice, if the engine learns the cached part late; replaces the number in
   * `prompt-computed`.
   */
  | { readonly kind: "prompt-cached"; readonly cachedTokenCount: number }
  /**
   * Before all tokens, and only if a beam search found fewer answers than requested: choices from `count` on do not
   * exist.
   */
  | { readonly kind: "choices-found"; readonly count: number }
  | { readonly kind: "tokens"; readonly choice: number; readonly tokens: readonly GeneratedToken[] }
  /**
   * Last event of an embedding request, and the only one after `prompt-computed`: input of the model's output
   * projection at the prompt's last token, [D]. Not normalized.
   */
  | { readonly kind: "embedding"; readonly values: Float32Array }
  /** Once for each choice that was not stopped, after its tokens. */
  | {
      readonly kind: "choice-finished";
      readonly choice: number;
      readonly reason: FinishReason;
      /** Null unless a stop token ended it. */
      readonly stopTokenId: number | null;
    };

/** A running request. */
export interface Generation {
  /**
   * Batches of events since the last read, never empty, in each choice's order; for one reader. Tokens of several
   * steps may be one event, and a finish comes in the same batch as its choice's last tokens if both are ready. Ends
   * after every choice has finished or been stopped.
   *
   * @throws ServiceError if the engine fails; `cancelled` after `abort`; `unsupported` if the constraint cannot be
   * enforced, or no token may follow before the answer may end
   */
  readonly events: AsyncIterable<readonly GenerationEvent[]>;
  /**
   * Ends one choice early. The embedded engine frees its slot within one step and emits nothing more of it; a remote
   * engine may emit a few more tokens, which the reader drops together with the rest of the current batch. Idempotent.
   */
  stopChoice(choice: number): void;
  /** Ends the whole request; `events` throws `cancelled`. Idempotent. */
  abort(): void;
}

/** A kind of constraint, or a notation of JSON in it. */
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

/** Parts of a request that determine its features, of an engine's request or a chat request. */
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

/** The notation of JSON matters only if JSON is requested. */
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

/** Returns the features that a request needs, each once. */
export function featuresOf(request: FeatureRequest): readonly EngineFeature[] {
  return [
    ...constraintFeaturesOf(request.constraint),
    ...new Set(askingParameters(request.sampling).map((parameter) => samplingFeatures[parameter])),
    ...askedFor(otherRules, request),
  ];
}

/** All kinds of constraints. */
export const constraintFeatures = Object.keys(constraintRules) as readonly ConstraintFeature[];

/** Returns the features that a constraint needs; none for an unconstrained answer. */
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
   * True if a request always gets the same tokens with the same log-probabilities, to the last bit, regardless of
   * concurrent requests, and choice `i` depends only on its seed and `i`. If false, the last digits of
   * log-probabilities may differ, and so may draws that depend on them.
   */
  readonly isExact: boolean;
  /** Present if the servers behind the engine pass prompts between each other. */
  readonly passesPrompts?: true;
  /** Names of its logits processors; absent if it has none. */
  readonly processors?: readonly string[];
}

/** Limits of the model of a running engine. */
export interface EngineLimits {
  /** Maximum number of tokens in prompt and answer together. */
  readonly contextLength: number;
  /** Number of ids that the logits cover. */
  readonly vocabularySize: number;
  /** Length of an embedding; absent if the engine offers none. */
  readonly embeddingSize?: number;
  /** Maximum number of alternatives per token of prompt or answer; absent if the whole vocabulary is available. */
  readonly logprobCountMax?: number;
}

export type EngineState =
  /**
   * `reason` is for people. An `unloaded` engine uses no memory; a request changes it to `loading` and then to
   * `ready`.
   */
  | {
      readonly kind: "unloaded" | "loading" | "starting" | "restarting" | "stopped" | "failed";
      readonly reason: string;
    }
  | {
      readonly kind: "ready";
      readonly limits: EngineLimits;
      /** Hex SHA-256 of its weights; absent if the engine cannot say. */
      readonly weights?: string;
    };

/** A measured quantity of an engine. */
export interface EngineGauge {
  /** Lower case with underscores and a unit at the end, like the name of a metric. */
  readonly name: string;
  readonly value: number;
  /** Null if unbounded. */
  readonly limit: number | null;
  /** One sentence for people. */
  readonly about: string;
  /** Part of the engine that the gauge describes, if it has several; all gauges of a name have the same labels. */
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
   * Gauges of this kind of engine, with the same names in every state. Computed on demand, because every request reads
   * the status.
   */
  readonly gauges: () => readonly EngineGauge[];
}

export interface Engine extends Service {
  readonly capabilities: EngineCapabilities;
  /** Absent if the engine neither holds prompts for other engines nor receives theirs. */
  readonly transfers?: PromptTransfers;
  /**
   * Starts a generation.
   *
   * @throws ServiceError `unavailable` if the engine is not running; `unsupported` for a missing feature, an
   * unavailable combination, or more positions than can ever run; `conflict` if the id is running; `overloaded` if the
   * queue is full
   */
  submit(request: GenerationRequest): Generation;
  /**
   * Returns the most tokens in prompt and answer together that can ever run for these choices, which must fit next to
   * each other if they run together. At most the context length, less if memory is small; 0 if so many choices can
   * never run, or the engine is not running.
   */
  roomFor(choices: ChoiceRequest): number;
  /**
   * Resolves when every replica can answer requests with the adapter. Await it before a version becomes the newest. It
   * delays nothing for long, and `submit` also accepts adapters that were never prepared.
   *
   * @throws ServiceError `conflict` as requests with the adapter would, `unavailable` if the engine is not running
   */
  prepareAdapter(reference: AdapterReference): Promise<void>;
  /** Unloads an adapter once nothing uses it; running requests continue. */
  dropAdapter(id: string): void;
  status(): EngineStatus;
}
