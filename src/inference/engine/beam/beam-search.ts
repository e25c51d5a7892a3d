// The state of one beam search: which hypotheses (answers so far) are live, which answers are complete, and when no live one can
// become better than those. Knows tokens and log-probabilities alone: neither scores of whole rows, nor where anything is
// computed.
import type { FinishReason, GeneratedToken } from "../../../base/domain/generation.ts";

export interface BeamOptions {
  readonly width: number;
  /** Any number: 0 compares sums, 1 means, and more favours longer answers more. */
  readonly lengthPenalty: number;
  readonly promptLength: number;
  readonly maxTokens: number;
  /** Any of these completes an answer, and is its last token. */
  readonly stopTokenIds: ReadonlySet<number>;
}

/** An answer so far: a token behind another hypothesis. */
export interface Hypothesis {
  /** Null for the empty one. */
  readonly before: Hypothesis | null;
  readonly token: GeneratedToken | null;
  readonly length: number;
  /** The sum of its tokens' log-probabilities. */
  readonly logprob: number;
}

/** The tokens that a hypothesis may go on with. */
export interface Candidates {
  /** Some of the most probable tokens, in order. */
  readonly tokens: readonly GeneratedToken[];
  /** Whether it is an answer as it stands, without a token that ends it. */
  readonly isComplete: boolean;
}

export const noCandidates: Candidates = { tokens: [], isComplete: false };

/** A live hypothesis, and the one of the step before that it goes on from. */
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

/** More than rounding can make of a score: bounds are widened by this part of them. */
const slack = 1e-9;

export class BeamSearch {
  readonly #options: BeamOptions;
  #live: readonly Hypothesis[] = [{ before: null, token: null, length: 0, logprob: 0 }];
  /** At most `width`, the best first; of equals the one with the greater sum, then the one that was complete earlier. */
  readonly #answers: BeamAnswer[] = [];

  constructor(options: BeamOptions) {
    this.#options = options;
  }

  /** The most probable first; none once the search is over. */
  get live(): readonly Hypothesis[] {
    return this.#live;
  }

  /** What was found, the best first; final once nothing is live. */
  get answers(): readonly BeamAnswer[] {
    return this.#answers;
  }

  /** So many of a hypothesis's candidates count: even if half of them end answers, there is one for each beam. */
  get candidateCountMax(): number {
    return 2 * this.#options.width;
  }

  /**
   * Goes one token on: tokens that end answers complete them, and of all others the best `width` live on.
   *
   * @param candidatesOf of every live hypothesis
   * @returns what lives now, in order
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
    // The sort is stable: of equals the more probable parent's come first, and of these the more probable token.
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

  /** @param length of the answer, without the token that ends it */
  #score(logprob: number, length: number): number {
    return logprob / (this.#options.promptLength + length) ** this.#options.lengthPenalty;
  }

  /**
   * Whether no answer that begins with a live one can be among the best any more: then going on changes nothing.
   * Log-probabilities are at most 0, so a sum only falls; it is divided by at most the largest divisor that can still
   * come: that of the longest answer, or, where the penalty is negative, of the shortest. That quotient bounds the score of
   * whatever comes from the most probable live hypothesis, and so from every other one, all being equally long.
   *
   * @param best of those that live
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

/** From the first to the last. */
export function tokensOf(hypothesis: Hypothesis): readonly GeneratedToken[] {
  const tokens: GeneratedToken[] = [];
  for (let at = hypothesis; at.before !== null && at.token !== null; at = at.before) tokens.push(at.token);
  return tokens.reverse();
}
