// The inputs of drawing a token beside the model's scores: the request's sampling options, and the state of the choice.
// Data; the steps read it.
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import type { Random } from "../../../base/domain/random.ts";
import type { SamplingParameters } from "../../../base/domain/sampling.ts";
import type { TokenMask } from "../token-masks/constraint-backend.ts";
import { tokenSetOf, type TokenSet } from "./token-set.ts";

/** What a request asks of all its draws, in the form that steps use. */
export interface DrawRules {
  readonly sampling: SamplingParameters;
  readonly isConstrained: boolean;
  /** `sampling.allowedTokenIds`. */
  readonly allowedIds: TokenSet | null;
  readonly minTokens: number;
  readonly stopTokenIds: ReadonlySet<number>;
  /** Null where log-probabilities are not wanted. */
  readonly topLogprobCount: number | null;
}

export function drawRulesOf({
  sampling,
  constraint,
  stopping,
  outputs,
}: Pick<GenerationRequest, "sampling" | "constraint" | "stopping" | "outputs">): DrawRules {
  const { allowedTokenIds } = sampling;
  return {
    sampling,
    isConstrained: constraint !== null,
    allowedIds: allowedTokenIds === null ? null : tokenSetOf(allowedTokenIds),
    minTokens: stopping.minTokens,
    stopTokenIds: new Set(stopping.stopTokenIds),
    topLogprobCount: outputs.topLogprobCount,
  };
}

/** A step on the scores that an operator brings, opened for one request and shared by its choices. */
export interface ScoreProcessor {
  /**
   * Changes the scores of the next token in place. What the constraint and the request forbid is negative infinity before,
   * and is again after, whatever a processor makes of it. What it does follows from its parameters alone: it may be
   * called again for the same tokens.
   *
   * @param scores_V with the logit bias, before penalties; each is left finite or negative infinity, which forbids the token
   * @param history of the choice
   * @throws ServiceError which ends the request
   */
  apply(scores_V: Float32Array, history: TokenHistory): void;
}

/** A choice before its next token. */
export interface DrawInput {
  readonly rules: DrawRules;
  /** The choice's own stream; one number or a few are taken for each token that is not greedy. */
  readonly random: Random;
  readonly history: TokenHistory;
  /** Those that the request asks for, in their order. */
  readonly processors: readonly ScoreProcessor[];
  /** What the constraint allows; null where the request has none. */
  readonly mask: TokenMask | null;
}

// The tokens of a choice so far, and how often it has each. Counted when it is first asked for and from then on token by
// token, so that a choice whose steps never ask pays nothing.

/** A prompt, which the choices of a request share. */
export class PromptTokens {
  readonly ids: readonly number[];
  #distinct: ReadonlySet<number> | null = null;

  constructor(ids: readonly number[]) {
    this.ids = ids;
  }

  /** Each id once. */
  get distinct(): ReadonlySet<number> {
    return (this.#distinct ??= new Set(this.ids));
  }
}

export class TokenHistory {
  readonly prompt: PromptTokens;
  /** What was generated so far; grows while the choice goes on. */
  readonly answerIds: readonly number[];
  readonly #counts = new Map<number, number>();
  #countedLength = 0;

  /** @param answerIds may grow, and never changes otherwise */
  constructor(prompt: PromptTokens, answerIds: readonly number[]) {
    this.prompt = prompt;
    this.answerIds = answerIds;
  }

  /** How often the answer has each id that it has. */
  get answerCounts(): ReadonlyMap<number, number> {
    const counts = this.#counts;
    while (this.#countedLength < this.answerIds.length) {
      const id = this.answerIds[this.#countedLength++];
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  }
}
