// A base model as it is served: its engine with all that turns text into its tokens and back. Built by whoever wires the
// server; chat only uses it. `reachModel` brings the base of a request's model into memory.
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
   * Absent where its engine is always loaded. Resolves once it is, and keeps it loaded until what this resolves to is called;
   * requests that one signal ends are let in together.
   *
   * @throws ServiceError `unavailable` where it cannot be loaded, or no memory is free for it in time; `overloaded` where too
   *   many wait; `cancelled` when the signal aborts
   */
  readonly hold?: (options: { readonly signal: AbortSignal }) => Promise<() => void>;
  readonly prompts: PromptWriter;
  /** Of answers alone: what is tokenized may take long, and is a matter of `prompts`. */
  readonly tokenizer: Tokenizer;
  readonly defaults: GenerationDefaults;
  readonly replies: ReplyAbilities;
  /** In which its engine computes; absent for float32. */
  readonly precision?: string;
  /** Tokens in prompt and answer together, as the model was made; the engine may hold fewer. */
  readonly contextLength: number;
}

/** The base models, of which those that nobody uses need not be in memory. */
export interface ServedBases {
  /**
   * What turns text into tokens of a base and back, which stays until the release; its engine is `hold`'s matter.
   *
   * @param name of one that is served
   */
  use(name: string): Promise<{ readonly base: ServedBase; readonly release: () => void }>;
}

/**
 * What a request to this base must keep to.
 *
 * @throws ServiceError `unavailable` while the engine is not up, and so has no limits
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

/** Tokens that prompt and answer may have together; as the model was made while its engine is not up. */
export function servedContextLength({
  engine,
  contextLength,
}: Pick<ServedBase, "engine" | "contextLength">): number {
  const { state } = engine.status();
  if (state.kind !== "ready") return contextLength;
  return Math.min(contextLength, state.limits.contextLength, engine.roomFor({ kind: "sample", count: 1 }));
}

/** What a model's makers recommend; each is used where a request says nothing. */
export interface GenerationDefaults {
  /** Any of these ends an answer, beside the tokenizer's end-of-text token. */
  readonly endTokenIds: readonly number[];
  /** At least 0; null where the makers say nothing. */
  readonly temperature: number | null;
  /** (0, 1] */
  readonly topP: number | null;
  /** At least 1, or 0 for off. */
  readonly topK: number | null;
  /** [0, 1] */
  readonly minP: number | null;
  /** Above 0. */
  readonly repetitionPenalty: number | null;
  /** At least 1; null where the makers say nothing. */
  readonly maxTokens: number | null;
}

/** What generation_config.json may hold that is read elsewhere or says nothing of how tokens are drawn. */
const otherMembers: ReadonlySet<string> = new Set([
  "_from_model_config",
  "bos_token_id",
  "eos_token_id",
  "pad_token_id",
  "transformers_version",
]);

/** What a model folder recommends, and what of it is not done here. */
export interface Recommendations {
  readonly defaults: GenerationDefaults;
  /** Members with their values, for people. */
  readonly notApplied: readonly string[];
}

/**
 * Reads generation_config.json of a model folder.
 *
 * @param endTokenIds those of the model's configuration, which is read elsewhere
 * @throws ServiceError `unsupported` for a value out of its range, naming it
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

/** The values at which members that are not read change nothing, as transformers has them; without any, no value does. */
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

/** How transformers computes, and what it returns beside the answer. */
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

// The model that a request names, with its base in memory. Whoever asks keeps both until its request ends.

interface ModelReach {
  readonly directory: Pick<ModelDirectory, "resolve">;
  readonly bases: ServedBases;
  readonly adapters: AdaptersInUse;
}

export interface ReachedModel {
  readonly model: ResolvedModel;
  readonly base: ServedBase;
}

/**
 * Resolves once the base's engine is loaded, which it stays until what `ends` has got is called.
 *
 * @param asked.refuse throws for what the base cannot do, before its engine is loaded for it
 * @param asked.ends gets what lets go of the model, also where this throws
 * @throws ServiceError as {@link ModelDirectory.resolve}, and as `hold` of the base
 */
export async function reachModel(
  reach: ModelReach,
  asked: {
    readonly name: string | null;
    readonly caller: Caller;
    readonly signal: AbortSignal;
    readonly refuse: (base: ServedBase) => void;
    readonly ends: (() => void)[];
  },
): Promise<ReachedModel> {
  const { directory, adapters, bases } = reach;
  const { name, caller, signal, refuse, ends } = asked;
  const model = await directory.resolve(name, caller);
  ends.push(adapters.enter(model.adapter?.id ?? null));
  const { base, release } = await bases.use(model.base);
  ends.push(release);
  refuse(base);
  const { kind } = base.engine.status().state;
  if (base.hold !== undefined) ends.push(await base.hold({ signal }));
  // Which weights it has, and so what may run on them, is known for sure once it is loaded.
  return kind === "unloaded" || kind === "loading" ? reachModel(reach, asked) : { model, base };
}
