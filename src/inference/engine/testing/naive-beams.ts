// Beam search for the naive engine, which recomputes every hypothesis from its first token at every step. Only for
// tests.
import type { GenerationEvent, GenerationRequest } from "../../../base/domain/generation.ts";
import { plainSampling } from "../../../base/domain/sampling.ts";
import { searchPlainly, type PlainAnswer, type PlainCandidates } from "./plain-beams.ts";
import { plainDistribution, plainLogprobs, rankedIds, type PlainAllowance } from "./plain-sampler.ts";

/** Scores for the token after an answer. */
export interface Scores {
  readonly logits: readonly number[];
  /** Tokens that may follow; null if all tokens may. */
  readonly allowance: PlainAllowance | null;
}

/** Returns the events of a beam search request; no events if the search finds no answer. */
export async function searchEvents(
  request: GenerationRequest,
  nextScores: (answer: readonly number[]) => Promise<Scores>,
): Promise<readonly GenerationEvent[]> {
  const { choices, prompt, stopping, outputs } = request;
  if (choices.kind !== "beam") return [];
  const { width, lengthPenalty } = choices;
  const answers = await searchPlainly({
    width,
    lengthPenalty,
    promptLength: prompt.tokenIds.length,
    stopping,
    candidatesAfter: async (answer) => candidatesOf(request, answer, await nextScores(answer)),
  });
  const found: readonly GenerationEvent[] =
    answers.length === width || answers.length === 0
      ? []
      : [{ kind: "choices-found", count: answers.length }];
  const hasLogprobs = outputs.topLogprobCount !== null;
  return [...found, ...answers.flatMap((answer, choice) => eventsOf(answer, choice, hasLogprobs))];
}

function candidatesOf(
  request: GenerationRequest,
  answer: readonly number[],
  { logits, allowance }: Scores,
): PlainCandidates {
  const { allowedTokenIds, badWords } = request.sampling;
  const sampling = { ...plainSampling, allowedTokenIds, badWords, seed: 0 };
  const possible = plainDistribution(logits, { request: { ...request, sampling }, answer, allowance });
  const allowed = new Set(possible.map(({ id }) => id));
  const logprobs = plainLogprobs(logits);
  const ranked = rankedIds(logits);
  const alternatives = ranked
    .slice(0, request.outputs.topLogprobCount ?? 0)
    .map((id) => ({ id, logprob: logprobs[id] }));
  const tokens = ranked
    .filter((id) => allowed.has(id))
    .map((id) => ({ id, logprob: logprobs[id], alternatives }));
  return { tokens, mayEnd: allowance?.mayEnd === true };
}

function eventsOf(
  { tokens, reason, stopTokenId }: PlainAnswer,
  choice: number,
  hasLogprobs: boolean,
): readonly GenerationEvent[] {
  const shown = tokens.map((token) => ({ ...token, logprob: hasLogprobs ? token.logprob : NaN }));
  const finished = { kind: "choice-finished", choice, reason, stopTokenId } as const;
  return shown.length === 0 ? [finished] : [{ kind: "tokens", choice, tokens: shown }, finished];
}
