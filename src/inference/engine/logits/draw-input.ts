// Inputs of a draw (the choice of one token) besides the model's logits: the request's sampling options, and the state
// of the choice.
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import type { Random } from "../../../base/domain/random.ts";
import type { SamplingParameters } from "../../../base/domain/sampling.ts";
import type { TokenMask } from "../token-masks/constraint-backend.ts";
import { tokenSetOf, type TokenSet } from "./token-set.ts";

/** Options that are the same for all draws of a request, in the form that the sampling steps need. */
export interface DrawRules {
  readonly sampling: SamplingParameters;
  readonly isConstrained: boolean;
  /** Set of the ids in `sampling.allowedTokenIds`; null if all tokens are allowed. */
  readonly allowedIds: TokenSet | null;
  readonly minTokens: number;
  readonly stopTokenIds: ReadonlySet<number>;
  /** Number of alternatives to report per token; null if log-probabilities are not requested. */
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

/** A logits processor, opened for one request and shared by its choices. */
export interface ScoreProcessor {
  /**
   * Changes the logits of the next token in place. Tokens that the constraint or the request forbids have negative
   * infinity before the call, and get it again afterwards. The changes must depend only on the parameters, because the
   * function may be called again for the same tokens.
   *
   * @param scores_V logits with the logit bias, before penalties; each must remain finite or negative infinity, which
   * forbids the token
   * @param history tokens of the choice so far
   * @throws ServiceError with which the request fails
   */
  apply(scores_V: Float32Array, history: TokenHistory): void;
}

/** Inputs of a draw besides the logits: the rules of the request, and the state of one of its choices. */
export interface DrawInput {
  readonly rules: DrawRules;
  /**
   * Random stream that only this choice uses. A greedy draw takes no number from the stream; other draws take one or a
   * few.
   */
  readonly random: Random;
  readonly history: TokenHistory;
  /** Logits processors of the request, in the order in which the request names them. */
  readonly processors: readonly ScoreProcessor[];
  /** Tokens that the constraint allows; null if the choice is unconstrained. */
  readonly mask: TokenMask | null;
}

// Tokens of a choice so far, with the count of each token. Counts are computed at their first use and then updated
// token by token, so requests that use no counts do not pay for them.

/** A prompt's tokens, shared by all choices of its request. */
export class PromptTokens {
  readonly ids: readonly number[];
  #distinct: ReadonlySet<number> | null = null;

  constructor(ids: readonly number[]) {
    this.ids = ids;
  }

  /** Set of the token ids that occur in the prompt. */
  get distinct(): ReadonlySet<number> {
    return (this.#distinct ??= new Set(this.ids));
  }
}

export class TokenHistory {
  readonly prompt: PromptTokens;
  /** Generated tokens so far. The array grows while the choice continues. */
  readonly answerIds: readonly number[];
  readonly #counts = new Map<number, number>();
  #countedLength = 0;

  /** @param answerIds the caller may append ids to this array, but must not change it otherwise */
  constructor(prompt: PromptTokens, answerIds: readonly number[]) {
    this.prompt = prompt;
    this.answerIds = answerIds;
  }

  /** Number of occurrences of each token id in the answer. */
  get answerCounts(): ReadonlyMap<number, number> {
    const counts = this.#counts;
    while (this.#countedLength < this.answerIds.length) {
      const id = this.answerIds[this.#countedLength++];
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  }
}
