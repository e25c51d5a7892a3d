// Seeded requests for comparing answers. They have all lengths, with and without adapters, sampling options and
// log-probabilities. Some repeat themselves, some share a prefix, and some request an embedding.
import type { AdapterReference, GenerationRequest } from "../../src/base/domain/generation.ts";
import { seededRandom, type Random } from "../../src/base/domain/random.ts";
import { invalid } from "../../src/base/domain/service-error.ts";
import { embeddingOf } from "../../src/base/domain/testing/feature-requests.ts";
import { requestOf } from "../../src/inference/engine/testing/run-loop.ts";

export interface RequestWorld {
  readonly vocabularySize: number;
  readonly adapters: readonly AdapterReference[];
  /** Maximum length of a prompt in tokens; see {@link requirePromptRoom}. */
  readonly promptLengthMax: number;
}

const answerLengths = [4, 12, 24];
const promptLengthMin = 40;

/**
 * Requires that every prompt of these requests fits into the context of the model, together with its answer.
 *
 * @throws ServiceError `invalid`
 */
export function requirePromptRoom(promptLengthMax: number, contextLength: number): void {
  const most = contextLength - Math.max(...answerLengths);
  if (promptLengthMax >= promptLengthMin && promptLengthMax <= most) return;
  throw invalid(
    `Prompts of up to ${promptLengthMax} tokens were requested. With this model's context of ${contextLength} tokens, ` +
      `name a length from ${promptLengthMin} to ${most}.`,
  );
}

/** @param seed selects the requests. For the same seed, a larger count only appends requests. */
export function exactRequests(
  seed: number,
  count: number,
  world: RequestWorld,
): readonly GenerationRequest[] {
  return Array.from({ length: count }, (_, index) => exactRequest(seededRandom("exact", seed, index), world));
}

function exactRequest(random: Random, world: RequestWorld): GenerationRequest {
  const { vocabularySize, adapters } = world;
  const pick = <T>(choices: readonly T[]): T => choices[random.index(choices.length)];
  const ids = (count: number): readonly number[] =>
    Array.from({ length: count }, () => random.index(vocabularySize));
  const logprobs = { topLogprobCount: pick([0, 2, 5]), promptLogprobCount: pick([null, null, null, 1]) };
  const request = requestOf(randomPrompt(random, world), {
    adapter: pick([null, null, ...adapters]),
    sampling: {
      temperature: pick([0, 0.7, 1]),
      topK: pick([0, 0, 40]),
      topP: pick([1, 1, 0.9]),
      minP: pick([0, 0, 0.02]),
      repetitionPenalty: pick([1, 1, 1.1]),
      frequencyPenalty: pick([0, 0, 0.4]),
      logitBias: pick([[], [], [...new Set(ids(5))]]).map((id) => [id, 2]),
      seed: random.index(2 ** 31),
    },
    choiceCount: pick([1, 1, 1, 1, 3]),
    beams: random.index(8) === 0 ? { width: 2 + random.index(2), lengthPenalty: 1 } : undefined,
    maxTokens: pick(answerLengths),
    ...logprobs,
    priority: 1,
  });
  return random.index(6) === 0 ? embeddingOf(request) : request;
}

/**
 * Returns a random prompt. Some share a prefix, like chats with the same system prompt. Some repeat a phrase many
 * times, so that their answers copy it.
 */
function randomPrompt(random: Random, { vocabularySize, promptLengthMax }: RequestWorld): readonly number[] {
  const ids = (count: number): readonly number[] =>
    Array.from({ length: count }, () => random.index(vocabularySize));
  const length = 1 + random.index([0.05, 0.2, 0.5, 1][random.index(4)] * promptLengthMax);
  const beginning = Array.from({ length: 36 }, (_, index) => (7 * index + 3) % vocabularySize);
  switch (random.index(3)) {
    case 0:
      return [...beginning, ...ids(length)].slice(0, promptLengthMax);
    case 1: {
      const phrase = ids(1 + random.index(8));
      return Array.from({ length }, (_, index) => phrase[index % phrase.length]);
    }
    default:
      return ids(length);
  }
}
