// Beam search by its definition, for comparison with the engine's search. It keeps every hypothesis as a separate list,
// keeps all complete answers, and always continues up to the last token. Only for tests.
import type { FinishReason, GeneratedToken, GenerationRequest } from "../../../base/domain/generation.ts";

export interface PlainAnswer {
  readonly tokens: readonly GeneratedToken[];
  readonly reason: FinishReason;
  readonly stopTokenId: number | null;
  readonly score: number;
}

export interface PlainCandidates {
  /** All allowed tokens, the most probable first. */
  readonly tokens: readonly GeneratedToken[];
  /** True if the answer may end here without a stop token. Ignored if any token is allowed. */
  readonly mayEnd: boolean;
}

export interface PlainSearch {
  readonly width: number;
  readonly lengthPenalty: number;
  readonly promptLength: number;
  readonly stopping: Pick<GenerationRequest["stopping"], "maxTokens" | "stopTokenIds">;
  readonly candidatesAfter: (answer: readonly number[]) => Promise<PlainCandidates>;
}

/** Returns at most `width` answers, the best first. */
export async function searchPlainly(search: PlainSearch): Promise<readonly PlainAnswer[]> {
  const { width, promptLength, lengthPenalty, candidatesAfter } = search;
  const { maxTokens, stopTokenIds } = search.stopping;
  const answers: PlainAnswer[] = [];
  const complete = (
    tokens: readonly GeneratedToken[],
    reason: FinishReason,
    stopTokenId: number | null,
  ): void => {
    const length = promptLength + tokens.length - (stopTokenId === null ? 0 : 1);
    answers.push({ tokens, reason, stopTokenId, score: sumOf(tokens) / Math.pow(length, lengthPenalty) });
  };
  let live: readonly (readonly GeneratedToken[])[] = [[]];
  for (let step = 0; step < maxTokens; step++) {
    const next: (readonly GeneratedToken[])[] = [];
    for (const tokens of live) {
      const candidates = await candidatesAfter(tokens.map(({ id }) => id));
      if (candidates.tokens.length === 0 && candidates.mayEnd) complete(tokens, "stop", null);
      for (const token of candidates.tokens.slice(0, 2 * width)) {
        if (stopTokenIds.includes(token.id)) complete([...tokens, token], "stop", token.id);
        else next.push([...tokens, token]);
      }
    }
    live = next.toSorted((one, other) => sumOf(other) - sumOf(one)).slice(0, width);
  }
  for (const tokens of live) complete(tokens, "length", null);
  return answers
    .toSorted((one, other) => other.score - one.score || sumOf(other.tokens) - sumOf(one.tokens))
    .slice(0, width);
}

function sumOf(tokens: readonly GeneratedToken[]): number {
  return tokens.reduce((sum, { logprob }) => sum + logprob, 0);
}
