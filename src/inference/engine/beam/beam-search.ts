// State of one beam search: the live hypotheses (unfinished answers) and the complete answers. The search ends when no
// live hypothesis can become one of the best answers. This module knows only tokens and log-probabilities, not logits
// or how they are computed.
import type { FinishReason, GeneratedToken } from "../../../base/domain/generation.ts";

export interface BeamOptions {
  readonly width: number;
  /**
   * Exponent for length normalization: an answer's sum of log-probabilities is divided by its length raised to this
   * power. So 0 compares sums and 1 compares means; higher values favour longer answers.
   */
  readonly lengthPenalty: number;
  readonly promptLength: number;
  readonly maxTokens: number;
  /** Tokens that end an answer. */
  readonly stopTokenIds: ReadonlySet<number>;
}

/** An unfinished answer, stored as the hypothesis that it extends and the token that it appends. */
export interface Hypothesis {
  /** The hypothesis that this one extends; null for the empty hypothesis. */
  readonly before: Hypothesis | null;
  readonly token: GeneratedToken | null;
  readonly length: number;
  /** Sum of the log-probabilities of the hypothesis's tokens. */
  readonly logprob: number;
}

/** Possible next tokens of a hypothesis. */
export interface Candidates {
  /** Some of the most probable tokens, the most probable first. */
  readonly tokens: readonly GeneratedToken[];
  /** True if the hypothesis may end without a further token. */
  readonly isComplete: boolean;
}

export const noCandidates: Candidates = { tokens: [], isComplete: false };

/** A live hypothesis and its parent, which is the hypothesis of the previous step that it extends. */
export interface Survivor {
  readonly parent: Hypothesis;
  readonly hypothesis: Hypothesis;
}

export interface BeamAnswer {
  readonly hypothesis: Hypothesis;
  readonly reason: FinishReason;
  readonly stopTokenId: number | null;
  readonly score: number;
}

/** Relative tolerance for comparing scores with bounds; larger than the rounding error of a score. */
const slack = 1e-9;

export class BeamSearch {
  readonly #options: BeamOptions;
  #live: readonly Hypothesis[] = [{ before: null, token: null, length: 0, logprob: 0 }];
  /**
   * The best complete answers, at most `width`, the best first. Among equal scores, the greater sum comes first, then
   * the earlier completion.
   */
  readonly #answers: BeamAnswer[] = [];

  constructor(options: BeamOptions) {
    this.#options = options;
  }

  /** Live hypotheses, the most probable first; empty once the search is over. */
  get live(): readonly Hypothesis[] {
    return this.#live;
  }

  /** Complete answers, the best first; final once no hypothesis is live. */
  get answers(): readonly BeamAnswer[] {
    return this.#answers;
  }

  /**
   * Number of candidates that are considered for each hypothesis: twice the beam width. Even if half of them end the
   * answer, one is left for each beam.
   */
  get candidateCountMax(): number {
    return 2 * this.#options.width;
  }

  /**
   * Extends every live hypothesis by one token. A stop token completes an answer. Of the other hypotheses, the best
   * `width` stay live.
   *
   * @param candidatesOf returns the possible next tokens of a live hypothesis
   * @returns the live hypotheses, the most probable first
   */
  advance(candidatesOf: (hypothesis: Hypothesis) => Candidates): readonly Survivor[] {
    const { width, maxTokens, stopTokenIds } = this.#options;
    const survivors: Survivor[] = [];
    for (const parent of this.#live) {
      const { tokens, isComplete } = candidatesOf(parent);
      if (isComplete) this.#complete(parent, "stop", null);
      for (const token of tokens.slice(0, this.candidateCountMax)) {
        const logprob = parent.logprob + token.logprob;
        const hypothesis = { before: parent, token, length: parent.length + 1, logprob };
        if (stopTokenIds.has(token.id)) this.#complete(hypothesis, "stop", token.id);
        else survivors.push({ parent, hypothesis });
      }
    }
    // The sort is stable. Among candidates with equal log-probabilities, those of a more probable parent come first,
    // and those of the same parent are ordered by the probability of their token.
    survivors.sort((one, other) => other.hypothesis.logprob - one.hypothesis.logprob);
    survivors.length = Math.min(width, survivors.length);
    if (survivors[0]?.hypothesis.length === maxTokens) {
      for (const { hypothesis } of survivors) this.#complete(hypothesis, "length", null);
      survivors.length = 0;
    }
    if (survivors.length > 0 && this.#isDecided(survivors[0].hypothesis)) survivors.length = 0;
    this.#live = survivors.map(({ hypothesis }) => hypothesis);
    return survivors;
  }

  #complete(hypothesis: Hypothesis, reason: FinishReason, stopTokenId: number | null): void {
    const length = hypothesis.length - (stopTokenId === null ? 0 : 1);
    const answer = { hypothesis, reason, stopTokenId, score: this.#score(hypothesis.logprob, length) };
    const answers = this.#answers;
    const place = answers.findIndex((other) => isBetter(answer, other));
    answers.splice(place < 0 ? answers.length : place, 0, answer);
    answers.length = Math.min(this.#options.width, answers.length);
  }

  /** @param length number of tokens in the answer, without its stop token */
  #score(logprob: number, length: number): number {
    return logprob / (this.#options.promptLength + length) ** this.#options.lengthPenalty;
  }

  /**
   * True if no extension of a live hypothesis can enter the best answers. Log-probabilities are at most 0, so a sum
   * only falls. The sum so far, divided by the largest possible divisor, therefore bounds the scores of all extensions:
   * * the largest divisor is that of the longest answer or, for a negative penalty, of the shortest;
   * * all live hypotheses have the same length, so the bound of the most probable one holds for all.
   *
   * @param best the most probable live hypothesis
   */
  #isDecided(best: Hypothesis): boolean {
    const { width, lengthPenalty, maxTokens } = this.#options;
    if (this.#answers.length < width) return false;
    const bound = this.#score(best.logprob, lengthPenalty >= 0 ? maxTokens : best.length);
    return this.#answers[width - 1].score > bound * (1 - slack);
  }
}

function isBetter(one: BeamAnswer, other: BeamAnswer): boolean {
  if (one.score !== other.score) return one.score > other.score;
  return one.hypothesis.logprob > other.hypothesis.logprob;
}

/** Returns a hypothesis's tokens in order. */
export function tokensOf(hypothesis: Hypothesis): readonly GeneratedToken[] {
  const tokens: GeneratedToken[] = [];
  for (let at = hypothesis; at.before !== null && at.token !== null; at = at.before) tokens.push(at.token);
  return tokens.reverse();
}
