// A base model as it is served: its engine with all that turns text into its tokens and back. Built at start by whoever
// wires the server; chat only uses it.
import { join } from "node:path";
import type { Engine, EngineLimits } from "../domain/generation.ts";
import type { BaseModel } from "../domain/model.ts";
import { ServiceError } from "../domain/service-error.ts";
import { readJsonObject } from "../tokenizer/load-tokenizer.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { PromptWriter } from "./prompts/write-prompt.ts";

export interface ServedBase {
  readonly model: BaseModel;
  readonly engine: Engine;
  readonly prompts: PromptWriter;
  /** Of answers alone: what is tokenized may take long, and is a matter of `prompts`. */
  readonly tokenizer: Tokenizer;
  readonly defaults: GenerationDefaults;
  /** Tokens in prompt and answer together, as the model was made; the engine may hold fewer. */
  readonly contextLength: number;
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
  throw new ServiceError({ code: "unavailable", message, retryAfterSeconds: 2 });
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
): Promise<GenerationDefaults> {
  const generation = (await readJsonObject(folder, "generation_config.json")) ?? {};
  const read = (member: string, range: string, isValid: (value: number) => boolean): number | null => {
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
  return {
    endTokenIds,
    temperature: read("temperature", "at least 0", (value) => value >= 0),
    topP: read("top_p", "above 0 and at most 1", (value) => value > 0 && value <= 1),
    topK: topK === null ? null : Math.max(0, topK),
  };
}
