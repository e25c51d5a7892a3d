// Resolves how an answer's tokens are sampled, and what ends the answer. The model's defaults apply to fields that the
// request omits. Refuses token ids that the model lacks; all other values have already been checked.
import { type ChatRequest, chatFault, type ChatField } from "../../base/domain/chat.ts";
import type { GenerationRequest } from "../../base/domain/generation.ts";
import { freshSeed } from "../../base/domain/random.ts";
import { plainSampling, type SamplingParameters } from "../../base/domain/sampling.ts";
import type { ServedBase } from "./served-base.ts";
import { cut, ServiceError, type Fault } from "../../base/domain/service-error.ts";

/**
 * A temperature below `greedyBelow` means greedy sampling. A temperature between `greedyBelow` and `temperatureMin` is
 * raised to `temperatureMin`, because dividing logits by a lower temperature overflows.
 */
const greedyBelow = 1e-5;
const temperatureMin = 0.01;
/** Maximum absolute value of a logit bias; larger values are clamped to it. */
const biasMax = 100;

/**
 * Returns the sampling parameters of an answer.
 *
 * @param resolved values that are known only after the prompt is written
 */
export function resolveSampling(
  { sampling, output }: ChatRequest,
  { defaults }: Pick<ServedBase, "defaults">,
  resolved: { readonly badWordIds: readonly (readonly number[])[]; readonly vocabularySize: number },
): SamplingParameters {
  const { temperature, topP, topK, minP, repetitionPenalty } = defaults;
  const { badWords: _, ...asked } = sampling;
  const given: SamplingParameters = {
    ...plainSampling,
    ...givenOf({ temperature, topP, topK, minP, repetitionPenalty }),
    ...givenOf(asked),
    logitBias: (sampling.logitBias ?? []).map(
      ([id, bias]) => [id, Math.max(-biasMax, Math.min(biasMax, bias))] as const,
    ),
    // A bad word without tokens is left out, because it cannot occur in an answer.
    badWords: resolved.badWordIds.filter((ids) => ids.length > 0),
    seed: sampling.seed === null || sampling.seed === -1 ? freshSeed() : sampling.seed,
  };
  // A beam search does not sample, so the recommended defaults for sampling do not apply.
  if (output.choices.kind === "beam") {
    const { allowedTokenIds, badWords, seed } = given;
    return { ...plainSampling, allowedTokenIds, badWords, seed };
  }
  // Fields that are not replaced here have no effect on greedy sampling. They remain set, so that unsupported ones are
  // still refused and supported ones are passed to the engine.
  if (given.temperature < greedyBelow) return { ...given, temperature: 0, topP: 1, topK: 0 };
  return {
    ...given,
    temperature: Math.max(temperatureMin, given.temperature),
    topK: given.topK < 1 || given.topK >= resolved.vocabularySize ? 0 : given.topK,
  };
}

/** Returns the entries whose value is not null. */
function givenOf<Values extends object>(
  values: Values,
): { [Name in keyof Values]?: NonNullable<Values[Name]> } {
  const entries = Object.entries(values).filter(([, value]) => value !== null);
  // Safe cast: the remaining entries have the names of `values`.
  return Object.fromEntries(entries) as { [Name in keyof Values]?: NonNullable<Values[Name]> };
}

/** Conditions that end an answer, and the end token that is not reported as a stop reason. */
export interface ResolvedStopping {
  readonly stopping: GenerationRequest["stopping"];
  /** Id of the model's end-of-text token; null if that token does not end the answer. */
  readonly endOfTextId: number | null;
}

/**
 * Returns the conditions that end an answer.
 *
 * @param room number of tokens that may follow the prompt
 */
export function resolveStopping(
  { stopping }: ChatRequest,
  { tokenizer, defaults }: Pick<ServedBase, "tokenizer" | "defaults">,
  room: number,
): ResolvedStopping {
  const { minTokens } = stopping;
  // If the request's minimum exceeds the recommended maximum, the minimum applies.
  const defaultMax = defaults.maxTokens === null ? room : Math.max(defaults.maxTokens, minTokens);
  // Maximum number of tokens; an answer that reaches it finishes with the reason `length`.
  const maxTokens = Math.min(stopping.maxTokens ?? defaultMax, room);
  const { endTokenIds } = defaults;
  const isEnded = !stopping.ignoreEndTokens;
  const endOfTextId = isEnded ? (tokenizer.endOfTextId ?? endTokenIds[0] ?? null) : null;
  const stopTokenIds = new Set([
    ...(endOfTextId === null ? [] : [endOfTextId]),
    ...(isEnded ? endTokenIds : []),
    ...stopping.stopTokenIds,
  ]);
  return {
    stopping: {
      maxTokens,
      minTokens: Math.min(minTokens, maxTokens),
      stopTokenIds: [...stopTokenIds],
    },
    endOfTextId,
  };
}

// Refuses requests with token ids that the model does not have. Token ids in the prompt are checked elsewhere, when the
// prompt is written.

/**
 * Refuses the request if one of its fields has token ids that the model does not have.
 *
 * @param resolved.badWordIds the tokens of the request's bad words
 * @throws ServiceError `unsupported` naming every field with such ids
 */
export function refuseUnknownTokens(
  { sampling, stopping }: ChatRequest,
  resolved: { readonly badWordIds: readonly (readonly number[])[]; readonly vocabularySize: number },
): void {
  const { badWordIds, vocabularySize } = resolved;
  const faults = (
    field: ChatField,
    ids: readonly number[],
    messageOf: (strange: string) => string,
  ): readonly Fault[] => {
    const strange = ids.filter((id) => id >= vocabularySize);
    if (strange.length === 0) return [];
    const message = messageOf(cut(`[${strange.join(", ")}]`));
    return [chatFault(field, { message, type: "value_error" })];
  };
  const limit = `Vocabulary size: ${vocabularySize}; use ids below it.`;
  const all = [
    ...faults(
      "sampling.logitBias",
      (sampling.logitBias ?? []).map(([id]) => id),
      (strange) =>
        `token_id(s) ${strange} in \`sampling.logitBias\` contain out-of-vocab token ids. ${limit}`,
    ),
    ...faults(
      "sampling.allowedTokenIds",
      sampling.allowedTokenIds ?? [],
      (strange) => `\`sampling.allowedTokenIds\` contains out-of-vocab token id! ${strange}. ${limit}`,
    ),
    ...faults(
      "sampling.badWords",
      badWordIds.flat(),
      (strange) =>
        `The model vocabulary size is ${vocabularySize}, but the following tokens were specified as bad: ${strange}. Leave out the words that are spelled with them.`,
    ),
    ...faults(
      "stopping.stopTokenIds",
      stopping.stopTokenIds,
      (strange) => `\`stopping.stopTokenIds\` contains out-of-vocab token ids ${strange}. ${limit}`,
    ),
  ];
  if (all.length > 0) throw new ServiceError({ code: "unsupported", faults: all });
}
