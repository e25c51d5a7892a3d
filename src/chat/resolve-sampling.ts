// How the tokens of an answer are drawn and what ends it, with the model's defaults where a request says nothing. What is
// asked for and cannot be done is refused elsewhere.
import type { ChatRequest } from "../domain/chat.ts";
import type { GenerationRequest } from "../domain/generation.ts";
import { freshSeed } from "../domain/random.ts";
import { plainSampling, type SamplingParameters } from "../domain/sampling.ts";
import type { ServedBase } from "./served-base.ts";

/** Below this a temperature is greedy; from here to `temperatureMin` it is raised, since dividing by less overflows. */
const greedyBelow = 1e-5;
const temperatureMin = 0.01;
/** A larger bias counts as this much. */
const biasMax = 100;

/** @param resolved what is known once the prompt is made */
export function resolveSampling(
  { sampling, output }: ChatRequest,
  { defaults }: Pick<ServedBase, "defaults">,
  resolved: { readonly badWordIds: readonly (readonly number[])[]; readonly vocabularySize: number },
): SamplingParameters {
  const given = {
    // Kept where greedy too, where it changes nothing: what was asked for is refused or passed on, whatever else was asked.
    minP: sampling.minP ?? defaults.minP ?? plainSampling.minP,
    repetitionPenalty:
      sampling.repetitionPenalty ?? defaults.repetitionPenalty ?? plainSampling.repetitionPenalty,
    frequencyPenalty: sampling.frequencyPenalty ?? plainSampling.frequencyPenalty,
    presencePenalty: sampling.presencePenalty ?? plainSampling.presencePenalty,
    logitBias: (sampling.logitBias ?? []).map(
      ([id, bias]) => [id, Math.max(-biasMax, Math.min(biasMax, bias))] as const,
    ),
    allowedTokenIds: sampling.allowedTokenIds,
    // A word that has no tokens is in no answer.
    badWords: resolved.badWordIds.filter((ids) => ids.length > 0),
    processors: sampling.processors ?? plainSampling.processors,
    extraArguments: sampling.extraArguments ?? plainSampling.extraArguments,
    seed: sampling.seed === null || sampling.seed === -1 ? freshSeed() : sampling.seed,
  };
  // Nothing is drawn by a search: what is recommended for draws says nothing of it.
  if (output.choices.kind === "beam") {
    const { allowedTokenIds, badWords, seed } = given;
    return { ...plainSampling, allowedTokenIds, badWords, seed };
  }
  const temperature = sampling.temperature ?? defaults.temperature ?? 1;
  if (temperature < greedyBelow) return { ...plainSampling, ...given, temperature: 0 };
  const topK = sampling.topK ?? defaults.topK ?? 0;
  return {
    ...given,
    temperature: Math.max(temperatureMin, temperature),
    topP: sampling.topP ?? defaults.topP ?? 1,
    topK: topK < 1 || topK >= resolved.vocabularySize ? 0 : topK,
  };
}

/** What ends an answer, and which of it is no stop reason. */
export interface ResolvedStopping {
  readonly stopping: GenerationRequest["stopping"];
  /** The model's own end of text; null where it does not end the answer. */
  readonly endOfTextId: number | null;
}

/** @param room how many tokens may follow the prompt */
export function resolveStopping(
  { stopping }: ChatRequest,
  { tokenizer, defaults }: Pick<ServedBase, "tokenizer" | "defaults">,
  room: number,
): ResolvedStopping {
  const { minTokens } = stopping;
  // The makers' length gives way to what was asked for.
  const defaultMax = defaults.maxTokens === null ? room : Math.max(defaults.maxTokens, minTokens);
  // What was asked for is an upper bound: an answer that fills the room ends with `length`.
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
