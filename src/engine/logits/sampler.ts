// Chooses the next token of one row, and says its raw log-probabilities: those before any step that a request asks for.
// Probabilities are in float64; nothing is sorted that need not be, and no object is made per vocabulary entry.
import type { GeneratedToken, TokenAlternative } from "../../domain/generation.ts";
import { AllowedScores, type AllowedTokens } from "./allowed-tokens.ts";
import { LogitsRow, type RowOptions } from "./logits-row.ts";
import { logitsSteps } from "./steps.ts";

export interface DrawOptions extends RowOptions {
  /** Null where log-probabilities are not wanted. */
  readonly topLogprobCount: number | null;
}

/** Draws tokens for a vocabulary of one size; holds the arrays that a draw needs, so it is not for use by two at once. */
export class Sampler {
  readonly #weights_V: Float64Array;
  readonly #allowed: AllowedScores;

  constructor(vocabularySize: number) {
    this.#weights_V = new Float64Array(vocabularySize);
    this.#allowed = new AllowedScores(vocabularySize);
  }

  /**
   * The next token of a row.
   *
   * @param logits_V raw scores; not modified
   * @param allowed the tokens that may come; null where all may
   * @returns null when no score is finite or one is not a number: the model has broken down
   */
  draw(
    logits_V: Float32Array,
    options: DrawOptions,
    allowed: AllowedTokens | null = null,
  ): GeneratedToken | null {
    const { topLogprobCount } = options;
    if (allowed !== null && topLogprobCount === null) {
      const id = this.#chooseAllowed(logits_V, options, allowed);
      return id === null ? null : { id, logprob: NaN, alternatives: [] };
    }
    const raw = new LogitsRow(logits_V, this.#weights_V, options);
    if (!Number.isFinite(raw.max)) return null;
    if (topLogprobCount !== null) raw.weigh(1);
    if (Number.isNaN(raw.total)) return null;
    // Taken here, since steps change the row.
    const logTotal = raw.max + Math.log(raw.total);
    const id = allowed === null ? choose(raw) : this.#chooseAllowed(logits_V, options, allowed);
    if (id === null) return null;
    if (topLogprobCount === null) return { id, logprob: NaN, alternatives: [] };
    return {
      id,
      logprob: logits_V[id] - logTotal,
      alternatives: alternativesOf(logits_V, topLogprobCount, logTotal),
    };
  }

  /** As {@link choose}, among the tokens that may come. */
  #chooseAllowed(logits_V: Float32Array, options: RowOptions, allowed: AllowedTokens): number | null {
    const { logits, ids } = this.#allowed.leave(logits_V, allowed);
    const place = choose(new LogitsRow(logits, this.#weights_V.subarray(0, logits.length), options));
    return place === null || ids === null ? place : ids[place];
  }
}

/** The place in the row of the token that its steps choose; null when no score is finite or one is not a number. */
function choose(row: LogitsRow): number | null {
  if (!Number.isFinite(row.max)) return null;
  for (const { isNeeded, apply } of logitsSteps) {
    if (Number.isNaN(row.total)) return null;
    if (isNeeded(row.options.sampling)) apply(row);
  }
  return row.chosenId;
}

function alternativesOf(
  logits_V: Float32Array,
  count: number,
  logTotal: number,
): readonly TokenAlternative[] {
  return greatest(logits_V, count).map((id) => ({ id, logprob: logits_V[id] - logTotal }));
}

/** The indices of the `count` greatest values in order, the lower index first among equals. */
function greatest(values: Float32Array, count: number): readonly number[] {
  const best: number[] = [];
  const size = Math.min(count, values.length);
  if (size === 0) return best;
  let least = -Infinity;
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (best.length === size && value <= least) continue;
    let place = Math.min(best.length, size - 1);
    while (place > 0 && values[best[place - 1]] < value) {
      best[place] = best[place - 1];
      place--;
    }
    best[place] = index;
    if (best.length === size) least = values[best[size - 1]];
  }
  return best;
}
