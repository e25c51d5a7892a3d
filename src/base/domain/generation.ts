// The contract between those who want tokens and the engines that compute them: token ids in, token ids out.
// The embedded engine and remote engines implement it. Text never passes here.
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

/** A LoRA adapter of one trained version: loaded from its folder at first use, immutable under its id. */
export interface AdapterReference {
  /**
   * `<model id>:<version>`. Requests never come with other weights under it; one that was prepared and never became a
   * version may be followed by another of the same id, whose hash then differs.
   */
  readonly id: string;
  /** A PEFT folder. */
  readonly folder: string;
  /** What it was trained over: an engine of other weights refuses it with `conflict`. Absent where nothing is known of it. */
  readonly base?: RecordedBase;
  /** Hex SHA-256 of its files: one that is another now is refused with `conflict`. Absent where it was not recorded. */
  readonly hash?: string;
}

/** Data throughout, so that it can be sent to another process or machine. */
export interface GenerationRequest {
  /** Unique among the running requests. */
  readonly id: string;
  readonly prompt: {
    /** At least one id, each in [0, vocabulary). */
    readonly tokenIds: readonly number[];
    /** Null serves the base model itself. */
    readonly adapter: AdapterReference | null;
    /** Asks to hold what is computed of it for another engine; only where the engine has {@link Engine.transfers}. */
    readonly hold?: PromptHold;
    /** The id under which the engine received what another one computed of it, or of a prompt that begins alike. */
    readonly received?: string;
    /** Goes to the servers behind the engine as it is; only where it {@link EngineCapabilities.passesPrompts}. */
    readonly passed?: PassedParameters;
  };
  readonly sampling: SamplingParameters;
  /** Null leaves the answer free. */
  readonly constraint: Constraint | null;
  readonly stopping: {
    /** At least 1, and 0 where the embedding is wanted; prompt and answer together fit the context length. */
    readonly maxTokens: number;
    /**
     * No stop token is drawn before the answer has this many, unless nothing else may come: an answer that is complete
     * under its constraint ends. 0 is off, at most `maxTokens`.
     */
    readonly minTokens: number;
    /** Any of these ends a choice, and is its last token. */
    readonly stopTokenIds: readonly number[];
  };
  readonly outputs: {
    /** How many alternatives each token carries; null where log-probabilities are not wanted. */
    readonly topLogprobCount: number | null;
    /** As `topLogprobCount`, for the tokens of the prompt. */
    readonly promptLogprobCount: number | null;
    /** Wants the prompt's embedding in place of an answer: `choices` is one draw, and nothing is drawn. */
    readonly embedding?: true;
  };
  readonly choices: ChoiceRequest;
  /**
   * Lower is earlier; 0 unless the engine schedules by priority. A request may take room from those of higher priority,
   * whose answers stay the same; as long as lower ones come, they may wait.
   */
  readonly priority: number;
  /** Whose prompt it is: nobody else's shares cached work with it, since how much was there is told. */
  readonly cacheOwner: string;
  /** Prompts share cached work only with prompts of the same salt; null shares with all of the owner's that have none. */
  readonly cacheSalt: string | null;
}

/** The most answers that a request may ask for. */
export const choiceCountMax = 128;

/** How many answers, and how they are found. */
export type ChoiceRequest =
  /** `count` (1 to {@link choiceCountMax}) independent draws; the prompt is computed once for all. */
  | { readonly kind: "sample"; readonly count: number }
  /**
   * The `width` best answers that beam search of that width finds, the best first. Nothing is drawn: each step goes on with
   * the `width` most probable of all beginnings, by the sum of raw log-probabilities, each beam bringing its best
   * `2 * width` tokens; those that end an answer complete it. Answers are compared by their sum divided by
   * `length ** lengthPenalty`, where `length` counts prompt and answer without the token that ended it. Of `sampling` only
   * what forbids tokens counts: `allowedTokenIds` and `badWords`.
   */
  | { readonly kind: "beam"; readonly width: number; readonly lengthPenalty: number };

/** How many choices a request is answered with; beam search may find fewer. */
export function choiceCountOf({ choices }: Pick<GenerationRequest, "choices">): number {
  return choices.kind === "sample" ? choices.count : choices.width;
}

/** Stands for the log-probability of what is impossible: JSON has no infinity. */
export const logprobMin = -9999;

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

/** A token with its place among all tokens. */
export interface RankedToken extends TokenAlternative {
  /** How many tokens are at least as probable, itself included: 1 is the most probable alone. */
  readonly rank: number;
}

/** A token of the prompt, judged after all before it. */
export interface PromptLogprob extends RankedToken {
  /** The true top k in order. */
  readonly alternatives: readonly RankedToken[];
}

export type FinishReason = "stop" | "length";

/** What a generation emits, in order; `choice` is the index in [0, choice count). */
export type GenerationEvent =
  /** Before all others, and only where there are notices about the constraint: a sentence each. */
  | { readonly kind: "constraint-noted"; readonly notices: readonly string[] }
  /**
   * Only where the request wanted them, and before all that follow: the next tokens of the prompt, whenever a part of it is
   * computed. All parts together hold every token of the prompt once, null for the first.
   */
  | { readonly kind: "prompt-logprobs"; readonly tokens: readonly (PromptLogprob | null)[] }
  /** Once, before all that is of a choice. */
  | {
      readonly kind: "prompt-computed";
      /** Tokens of the prompt that an earlier request had computed; 0 where the request wanted their log-probabilities. */
      readonly cachedTokenCount: number;
      /** Of a request that asked for it, whether the prompt is held: there may be no room for it. */
      readonly isHeld?: boolean;
      /** What the servers behind the engine answered to what was passed to them. */
      readonly passed?: PassedParameters;
      /**
       * How long it waited in the engine until its prompt was begun: for a slot, its adapter, its constraint. Absent where an
       * engine cannot say.
       */
      readonly waitedMs?: number;
    }
  /**
   * At most once, before the end of the last choice, where an engine learns no sooner how much of the prompt was there: in
   * place of what `prompt-computed` said.
   */
  | { readonly kind: "prompt-cached"; readonly cachedTokenCount: number }
  /**
   * Before all tokens, and only where a beam search found fewer answers than it was asked for: there are no choices from
   * `count` on.
   */
  | { readonly kind: "choices-found"; readonly count: number }
  | { readonly kind: "tokens"; readonly choice: number; readonly tokens: readonly GeneratedToken[] }
  /**
   * The last of a request that wants it, and all that comes behind `prompt-computed`: what the model's output projection
   * takes of the prompt's last token, [D]. Its length is as the model made it.
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
   * For one reader. What came since it last read comes in batches, in each choice's order and none of them empty; tokens of
   * several steps may come as one event, and a finish comes with its choice's last tokens where both came since. Ends after
   * every choice has finished or been stopped; throws a ServiceError when the engine fails, when `abort` was called, and
   * `unsupported` where the constraint cannot be served, or no token may come before the answer may end.
   */
  readonly events: AsyncIterable<readonly GenerationEvent[]>;
  /**
   * Ends one choice early; the embedded engine frees its slot within one step, and no later batch holds anything of it. A
   * remote engine may take this as advice and emit a few more tokens. The reader drops these, and what the batch at hand
   * still holds. Idempotent.
   */
  stopChoice(choice: number): void;
  /** Ends the whole request; `events` throws `cancelled`. Idempotent. */
  abort(): void;
}

/** An answer that is held to a constraint of one kind, and how JSON in it is written. */
export type ConstraintFeature =
  | `constraint-${ConstraintRule["kind"]}`
  | "constraint-compact-json"
  | "constraint-whitespace-pattern"
  | "constraint-closed-objects";

/** What a request can ask of an engine beyond plain sampling with temperature, top-k, top-p, a seed and stop tokens. */
export type EngineFeature =
  | ConstraintFeature
  | SamplingFeature
  | "min-tokens"
  | "prompt-logprobs"
  | "beam"
  | "priority"
  | "cache-salt"
  | "embeddings";

/** What of a request asks for features, whether it is on its way to an engine or still a chat's. */
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

/** How JSON is written is asked for where some is. */
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

/** Which features a request asks for, each once. */
export function featuresOf(request: FeatureRequest): readonly EngineFeature[] {
  return [
    ...constraintFeaturesOf(request.constraint),
    ...new Set(askingParameters(request.sampling).map((parameter) => samplingFeatures[parameter])),
    ...askedFor(otherRules, request),
  ];
}

/** Every way to hold an answer to a constraint. */
export const constraintFeatures = Object.keys(constraintRules) as readonly ConstraintFeature[];

/** Which features a constraint asks for; none where the answer is free. */
export function constraintFeaturesOf(constraint: Constraint | null): readonly ConstraintFeature[] {
  return askedFor(constraintRules, { constraint });
}

function askedFor<Feature extends string, Request>(
  rules: Readonly<Record<Feature, (request: Request) => boolean>>,
  request: Request,
): readonly Feature[] {
  // The record's keys are the features.
  return (Object.keys(rules) as Feature[]).filter((feature) => rules[feature](request));
}

/** What an engine can do; constant, known before it starts. */
export interface EngineCapabilities {
  readonly features: ReadonlySet<EngineFeature>;
  /**
   * Whether a request is answered by the same tokens with the same log-probabilities each time, to the last bit, whatever
   * runs beside it; and choice `i` is drawn from the stream of its seed and `i`, however many choices there are. Where it
   * is false log-probabilities may differ in their last digits, and a draw that is decided by these.
   */
  readonly isExact: boolean;
  /** Whether servers behind it pass prompts from one to another by themselves; absent where they do not. */
  readonly passesPrompts?: true;
  /** The names of the logits processors that it has; absent where it has none. */
  readonly processors?: readonly string[];
}

/** What the model of an engine that is up allows. */
export interface EngineLimits {
  /** Tokens in prompt and answer together that the model takes. */
  readonly contextLength: number;
  /** How many ids the logits cover. */
  readonly vocabularySize: number;
  /** How many numbers an embedding has; absent where the engine offers none. */
  readonly embeddingSize?: number;
  /** How many alternatives a token may carry, of the prompt or the answer; absent where that is the whole vocabulary. */
  readonly logprobCountMax?: number;
}

export type EngineState =
  /**
   * `reason` is for people. An engine that is `unloaded` gives its memory to others until a request comes, and is `loading`
   * from then on until it is ready.
   */
  | {
      readonly kind: "unloaded" | "loading" | "starting" | "restarting" | "stopped" | "failed";
      readonly reason: string;
    }
  | {
      readonly kind: "ready";
      readonly limits: EngineLimits;
      /** Hex SHA-256 of the weights that it computes with; absent where an engine cannot say. */
      readonly weights?: string;
    };

/** A number that an engine shows of itself. */
export interface EngineGauge {
  /** Lower case with underscores, a unit last, as a metric is named. */
  readonly name: string;
  readonly value: number;
  /** Null where nothing bounds it. */
  readonly limit: number | null;
  /** One sentence for people. */
  readonly about: string;
  /** Of which part of the engine it is, where it has several; all gauges of a name have the same labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Whether it only grows, until the engine is another one. */
  readonly isTotal?: boolean;
}

/** What an engine holds and does at this moment. */
export interface EngineStatus {
  readonly state: EngineState;
  readonly runningCount: number;
  readonly waitingCount: number;
  readonly waitingCountMax: number;
  /** What this kind of engine shows beside; the same names in every state. Made when called: every request asks for a status. */
  readonly gauges: () => readonly EngineGauge[];
}

export interface Engine extends Service {
  readonly capabilities: EngineCapabilities;
  /** Absent where it neither holds prompts for other engines nor takes theirs. */
  readonly transfers?: PromptTransfers;
  /**
   * Starts a generation. Throws `unavailable` when the engine is not up, `unsupported` for a feature it lacks, for features
   * that it has and does not offer together, for more than its limits and for more positions than can ever run, `conflict`
   * when the id is running, `overloaded` when the queue is full.
   */
  submit(request: GenerationRequest): Generation;
  /**
   * The most tokens in prompt and answer together that can ever run for a request of such choices, all of which fit beside
   * each other where they must: at most the context length, less where memory is small. 0 where as many can never run, and
   * while the engine is not up.
   */
  roomFor(choices: ChoiceRequest): number;
  /**
   * Resolves when requests with the adapter can be answered, at every replica. To be awaited before a version becomes the
   * newest. It holds up nothing for long, and is no condition of `submit`, which takes adapters that were never prepared.
   *
   * @throws ServiceError `conflict` as requests with the adapter would, `unavailable` where the engine is not up
   */
  prepareAdapter(reference: AdapterReference): Promise<void>;
  /** Forgets an adapter once nothing uses it; requests already running go on. */
  dropAdapter(id: string): void;
  status(): EngineStatus;
}
