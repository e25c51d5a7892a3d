// A base model that is being served: its engine, its tokenizer, and the threads that render and tokenize its prompts.
// The server creates this object at startup, and chat only uses it. `acquireModel` loads the weights into memory when a
// request needs them.
import { join } from "node:path";
import type { Engine, EngineLimits } from "../../base/domain/generation.ts";
import type { BaseModel } from "../../base/domain/model.ts";
import { cut, ServiceError } from "../../base/domain/service-error.ts";
import { type Tokenizer, readJsonObject } from "../../lib/tokenizer/tokenizer.ts";
import type { ReplyAbilities } from "./reply-abilities.ts";
import type { PromptWriter } from "./prompts/write-prompt.ts";
import type { Caller } from "../../base/domain/access.ts";
import type { AdaptersInUse } from "../models/registry/version-uses.ts";
import type { ModelDirectory, ResolvedModel } from "../models/registry/model-directory.ts";

export interface ServedBase {
  readonly model: Pick<BaseModel, "name" | "folder" | "toolCalls">;
  readonly engine: Engine;
  /**
   * Loads the engine, and keeps it loaded until the returned function is called; absent if the engine is always
   * loaded. Calls with the same signal do not wait for each other.
   *
   * @throws ServiceError `unavailable` if the engine cannot be loaded, or no memory becomes free for it in time;
   * `overloaded` if too many requests wait; `cancelled` when the signal aborts
   */
  readonly hold?: (options: { readonly signal: AbortSignal }) => Promise<() => void>;
  readonly prompts: PromptWriter;
  /** Tokenizer for answers. Prompts are tokenized in other threads by `prompts`, because that may take long. */
  readonly tokenizer: Tokenizer;
  readonly defaults: GenerationDefaults;
  readonly replies: ReplyAbilities;
  /** Numeric precision in which the engine computes; absent for float32. */
  readonly precision?: string;
  /**
   * Maximum number of tokens in prompt and answer together for which the model was made; the engine may allow fewer.
   */
  readonly contextLength: number;
}

/** The base models that the server serves. The engine of a base that no request uses may be unloaded. */
export interface ServedBases {
  /**
   * Loads a base's tokenizer, and the threads that render and tokenize its prompts. All of them stay loaded until
   * `release` is called. To use the base's engine, call `hold` too.
   *
   * @param name name of a served base
   */
  use(name: string): Promise<{ readonly base: ServedBase; readonly release: () => void }>;
}

/**
 * Returns the limits for requests to this base.
 *
 * @throws ServiceError `unavailable` while the engine is not ready, because its limits are then unknown
 */
export function servedLimits({ engine, model, contextLength }: ServedBase): EngineLimits {
  const { state } = engine.status();
  if (state.kind === "ready") {
    return { ...state.limits, contextLength: Math.min(contextLength, state.limits.contextLength) };
  }
  const { kind, reason } = state;
  const message = `The model ${model.name} is not ready (${kind}${reason === "" ? "" : `: ${reason}`}); try again later.`;
  throw new ServiceError({ code: "unavailable", obstacle: "unloaded-base", message, retryAfterSeconds: 2 });
}

/**
 * Returns the maximum number of tokens in prompt and answer together. While the engine is not ready, returns the
 * model's own maximum.
 */
export function servedContextLength({
  engine,
  contextLength,
}: Pick<ServedBase, "engine" | "contextLength">): number {
  const { state } = engine.status();
  if (state.kind !== "ready") return contextLength;
  return Math.min(contextLength, state.limits.contextLength, engine.roomFor({ kind: "sample", count: 1 }));
}

/** Defaults that a model's makers recommend. Each applies if a request omits the corresponding field. */
export interface GenerationDefaults {
  /** Ids of the tokens that end an answer, in addition to the tokenizer's end-of-text token. */
  readonly endTokenIds: readonly number[];
  /** Temperature, at least 0; null if the makers recommend none. */
  readonly temperature: number | null;
  /** Top-p, in (0, 1]; null if the makers recommend none. */
  readonly topP: number | null;
  /** Top-k: at least 1, or 0 to turn top-k off; null if the makers recommend none. */
  readonly topK: number | null;
  /** Min-p, in [0, 1]; null if the makers recommend none. */
  readonly minP: number | null;
  /** Repetition penalty, above 0; null if the makers recommend none. */
  readonly repetitionPenalty: number | null;
  /** Maximum number of answer tokens, at least 1; null if the makers recommend none. */
  readonly maxTokens: number | null;
}

/** Members of generation_config.json that other code reads, or that do not affect sampling. */
const otherMembers: ReadonlySet<string> = new Set([
  "_from_model_config",
  "bos_token_id",
  "eos_token_id",
  "pad_token_id",
  "transformers_version",
]);

/** Defaults recommended in a model folder, and recommended settings that Hone does not apply. */
export interface Recommendations {
  readonly defaults: GenerationDefaults;
  /** Names and values of the settings that Hone does not apply, as texts for operators. */
  readonly notApplied: readonly string[];
}

/**
 * Reads the generation_config.json of a model folder.
 *
 * @param endTokenIds end tokens that another module has read from the model's configuration
 * @throws ServiceError `unsupported` for a value out of its range, naming the value
 */
export async function readGenerationDefaults(
  folder: string,
  endTokenIds: readonly number[],
): Promise<Recommendations> {
  const generation = (await readJsonObject(folder, "generation_config.json")) ?? {};
  const readMembers = new Set(otherMembers);
  const read = (member: string, range: string, isValid: (value: number) => boolean): number | null => {
    readMembers.add(member);
    const value = generation[member] ?? null;
    if (value === null || (typeof value === "number" && isValid(value))) return value;
    const path = join(folder, "generation_config.json");
    throw new ServiceError({
      code: "unsupported",
      message: `${path}: ${member} is ${JSON.stringify(value)}; it must be ${range}.`,
    });
  };
  const topK = read(
    "top_k",
    "a whole number of at least -1",
    (value) => Number.isInteger(value) && value >= -1,
  );
  const defaults = {
    endTokenIds,
    temperature: read("temperature", "at least 0", (value) => value >= 0),
    topP: read("top_p", "above 0 and at most 1", (value) => value > 0 && value <= 1),
    topK: topK === null ? null : Math.max(0, topK),
    minP: read("min_p", "at least 0 and at most 1", (value) => value >= 0 && value <= 1),
    repetitionPenalty: read("repetition_penalty", "above 0", (value) => value > 0),
    maxTokens: read(
      "max_new_tokens",
      "a whole number of at least 1",
      (value) => Number.isInteger(value) && value >= 1,
    ),
  };
  const notApplied = Object.entries(generation)
    .filter(([member, value]) => !readMembers.has(member) && !asksForNothing(member, value))
    .map(([member, value]) => cut(`${member} ${JSON.stringify(value)}`));
  return { defaults, notApplied };
}

/**
 * For each setting, the values with which it has no effect in transformers. Settings that Hone does not apply are
 * reported only if they have another value. An empty list means that every value has an effect.
 */
const plainValues: Readonly<Record<string, readonly unknown[]>> = {
  do_sample: [true],
  num_beams: [1],
  num_beam_groups: [1],
  num_return_sequences: [1],
  min_length: [0],
  length_penalty: [1],
  diversity_penalty: [0],
  encoder_no_repeat_ngram_size: [0],
  encoder_repetition_penalty: [1],
  no_repeat_ngram_size: [0],
  typical_p: [1],
  epsilon_cutoff: [0],
  eta_cutoff: [0],
  penalty_alpha: [0],
  early_stopping: [false],
  remove_invalid_values: [false],
  renormalize_logits: [false],
};

/** Settings that affect only how transformers computes, or that add outputs which only transformers returns. */
const ofTransformers: ReadonlySet<string> = new Set([
  "use_cache",
  "cache_implementation",
  "return_legacy_cache",
  "return_dict_in_generate",
  "output_attentions",
  "output_hidden_states",
  "output_scores",
  "output_logits",
  "trust_remote_code",
]);

function asksForNothing(member: string, value: unknown): boolean {
  if (value === null || ofTransformers.has(member)) return true;
  return Object.hasOwn(plainValues, member) && plainValues[member].includes(value);
}

// Dependencies for resolving the model that a request names and loading its base.

interface ModelDependencies {
  readonly directory: Pick<ModelDirectory, "resolve">;
  readonly bases: ServedBases;
  readonly adapters: AdaptersInUse;
}

export interface AcquiredModel {
  readonly model: ResolvedModel;
  readonly base: ServedBase;
}

/**
 * Resolves the model that a request names, and loads the engine of its base. Model and engine stay in use until the
 * functions in `ends` are called.
 *
 * @param asked.refuse throws if the base lacks an ability that the request needs; called before the base's engine is
 * loaded
 * @param asked.ends list to which the release functions are added, even if this function throws
 * @throws ServiceError as {@link ModelDirectory.resolve}, and as `hold` of the base
 */
export async function acquireModel(
  dependencies: ModelDependencies,
  asked: {
    readonly name: string | null;
    readonly caller: Caller;
    readonly signal: AbortSignal;
    readonly refuse: (base: ServedBase) => void;
    readonly ends: (() => void)[];
  },
): Promise<AcquiredModel> {
  const { directory, adapters, bases } = dependencies;
  const { name, caller, signal, refuse, ends } = asked;
  const model = await directory.resolve(name, caller);
  ends.push(adapters.enter(model.adapter?.id ?? null));
  const { base, release } = await bases.use(model.base);
  ends.push(release);
  refuse(base);
  const { kind } = base.engine.status().state;
  if (base.hold !== undefined) ends.push(await base.hold({ signal }));
  // Loading may have changed the base's abilities, which are certain only once its weights are loaded. So the check is
  // repeated after loading.
  return kind === "unloaded" || kind === "loading" ? acquireModel(dependencies, asked) : { model, base };
}
