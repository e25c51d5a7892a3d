// What a chat request means for the model it names: every default resolved, every limit checked, ready for the engine.
// Pure but for a fresh seed where the request brought none.
import type { ChatHeader, ChatRequest } from "../domain/chat.ts";
import type { GenerationRequest } from "../domain/generation.ts";
import { freshSeed } from "../domain/random.ts";
import { plainSampling, type SamplingParameters } from "../domain/sampling.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { ResolvedModel } from "./model-directory.ts";
import { renderChatPrompt } from "./render-prompt.ts";
import { servedLimits } from "./served-base.ts";
import type { GenerationDefaults, ServedBase } from "./served-base.ts";

export interface GenerationPlan {
  readonly generation: GenerationRequest;
  readonly header: Omit<ChatHeader, "createdAt">;
  /** The token whose stop is not told as a stop reason. */
  readonly endOfTextId: number | null;
}

/**
 * @throws ServiceError `unavailable` while the engine is not up, `unsupported` for a prompt that cannot be rendered or does not fit, and for more tokens than fit
 */
export function planGeneration(request: ChatRequest, model: ResolvedModel, base: ServedBase): GenerationPlan {
  const { contextLength, vocabularySize } = servedLimits(base);
  const promptTokenIds = renderChatPrompt(request, base);
  const logprobs = logprobMode(request, model);
  const endOfTextId = base.tokenizer.endOfTextId ?? base.defaults.endTokenIds[0] ?? null;
  const stopTokenIds = new Set([
    ...(endOfTextId === null ? [] : [endOfTextId]),
    ...base.defaults.endTokenIds,
  ]);
  return {
    generation: {
      id: request.requestId,
      prompt: { tokenIds: promptTokenIds, adapter: model.adapter },
      sampling: resolveSampling(request, base.defaults, vocabularySize),
      constraint: null,
      stopping: {
        maxTokens: resolveMaxTokens(request.maxTokens, promptTokenIds.length, contextLength),
        minTokens: 0,
        stopTokenIds: [...stopTokenIds],
      },
      outputs: {
        topLogprobCount: logprobs === "off" ? null : (request.logprobs?.topCount ?? 0),
        promptLogprobCount: null,
      },
      choices: { kind: "sample", count: request.choiceCount },
      priority: 0,
      cacheSalt: null,
      transfer: null,
    },
    header: {
      model: model.name,
      fingerprint: model.fingerprint,
      role: request.addGenerationPrompt ? "assistant" : (request.messages.at(-1)?.role ?? "assistant"),
      promptTokenIds,
      logprobs,
      tokenIds: {
        top: request.returnTokenIds === true,
        inChoices: model.isTrained && request.logprobs !== null && request.returnTokenIds !== false,
      },
    },
    endOfTextId,
  };
}

/** A trained model tells log-probabilities unasked, since rollouts need them, and spells those tokens by id. */
function logprobMode(request: ChatRequest, model: ResolvedModel): ChatHeader["logprobs"] {
  if (request.logprobs === undefined) return model.isTrained ? "token-id" : "off";
  return request.logprobs === null ? "off" : "text";
}

function resolveMaxTokens(wanted: number | null, promptLength: number, contextLength: number): number {
  const room = contextLength - promptLength;
  if (wanted === null) return room;
  if (wanted < 1) throw refusedMaxTokens("invalid", `max_tokens must be at least 1, got ${wanted}.`);
  if (wanted <= room) return wanted;
  throw refusedMaxTokens(
    "unsupported",
    `'max_tokens' or 'max_completion_tokens' is too large: ${wanted}. This model's maximum context length is ${contextLength} tokens ` +
      `and your request has ${promptLength} input tokens (${wanted} > ${contextLength} - ${promptLength}).`,
  );
}

function refusedMaxTokens(code: "invalid" | "unsupported", message: string): ServiceError {
  return new ServiceError({
    code,
    message,
    faults: [{ location: ["body", "max_tokens"], message, type: "value_error" }],
  });
}

/** Below this a temperature is greedy; from here to `temperatureMin` it is raised, since dividing by less overflows. */
const greedyBelow = 1e-5;
const temperatureMin = 0.01;

function resolveSampling(
  request: ChatRequest,
  defaults: GenerationDefaults,
  vocabularySize: number,
): SamplingParameters {
  const seed = request.seed === null || request.seed === -1 ? freshSeed() : request.seed;
  const temperature = request.temperature ?? defaults.temperature ?? 1;
  if (temperature < greedyBelow) return { ...plainSampling, temperature: 0, seed };
  const topK = request.topK ?? defaults.topK ?? 0;
  return {
    ...plainSampling,
    temperature: Math.max(temperatureMin, temperature),
    topP: request.topP ?? defaults.topP ?? 1,
    topK: topK < 1 || topK >= vocabularySize ? 0 : topK,
    seed,
  };
}
