// Draws the next token of one row. Also returns raw log-probabilities, that is, those of the model before any change
// that the request asks for. Probabilities are computed in float64; a draw sorts as little as possible and creates no
// object per vocabulary entry.
import type { GeneratedToken, TokenAlternative } from "../../../base/domain/generation.ts";
import { blockSize, type ScoreBlocks } from "./blocks/score-blocks.ts";
import type { DrawInput, DrawRules } from "./draw-input.ts";
import { totalMass, maxScoreMass, LogitsRow, RowBuffers, type ScoresLeft } from "./logits-row.ts";
import { choosingSteps, drawsFromRawScores, forbiddingSteps, isGreedy, shiftingSteps } from "./steps.ts";
import { TokenSet } from "./token-set.ts";

/** Reason why no token was drawn. */
export type NoToken =
  /** No logit is finite, or a logit is NaN: the model or a logits processor is broken. */
  | "broken scores"
  /** The request's rules forbid all tokens. */
  | "nothing allowed";

/**
 * Summaries of a row's raw logits by block (see `score-blocks.ts`). If given, a draw needs fewer passes over the row.
 * Otherwise the draw computes the summaries itself.
 */
export interface DrawBlocks {
  /** Block summaries at temperature 1, for log-probabilities; null if not computed. */
  readonly raw: ScoreBlocks | null;
  /**
   * Block summaries at the request's temperature; null if not computed, or if the draw changes the raw logits first.
   */
  readonly tempered: ScoreBlocks | null;
}

/**
 * Returns the temperature at which each kind of blocks is computed for a request; null if the request's draws do not
 * use that kind.
 */
export function blockTemperatures(rules: DrawRules): { readonly [Kind in keyof DrawBlocks]: number | null } {
  const { temperature } = rules.sampling;
  // Below 0.1, the division by the temperature would make float32 logits too imprecise.
  const isTempered = !isGreedy(rules) && temperature >= 0.1 && drawsFromRawScores(rules);
  return { raw: rules.topLogprobCount === null ? null : 1, tempered: isTempered ? temperature : null };
}

const noBlocks: DrawBlocks = { raw: null, tempered: null };

/** Draws tokens for one vocabulary size. All draws share the sampler's buffers, so they must not overlap. */
export class Sampler {
  readonly #shifted_V: Float32Array;
  readonly #allowed: TokenSet;
  readonly #room: RowBuffers;

  constructor(vocabularySize: number) {
    this.#shifted_V = new Float32Array(vocabularySize);
    this.#allowed = new TokenSet(vocabularySize);
    this.#room = new RowBuffers(vocabularySize);
  }

  /**
   * Draws the next token of a row, or returns the reason why no token can be drawn.
   *
   * @param logits_V raw logits; not modified
   * @param blocks blocks of these logits, at the temperatures of {@link blockTemperatures}
   * @throws ServiceError the error of a logits processor
   */
  draw(logits_V: Float32Array, input: DrawInput, blocks = noBlocks): GeneratedToken | NoToken {
    const { topLogprobCount } = input.rules;
    const allowed = this.#allowedTokens(input);
    if (allowed?.isEmpty === true) return "nothing allowed";
    const raw =
      topLogprobCount === null ? null : this.#row({ logits: logits_V, ids: null }, input, blocks.raw);
    const logTotal = raw === null ? NaN : logTotalOf(raw);
    if (raw !== null && Number.isNaN(logTotal)) return "broken scores";
    const left = this.#scoresLeft(logits_V, allowed, input);
    const known = blocks.tempered ?? raw?.blocks ?? null;
    const row = this.#row(left, input, left.logits === logits_V ? known : null);
    // The row has no possible token. Because `left` is not the model's own row, a rule of the request forbade tokens.
    if (row.max === -Infinity && left.logits !== logits_V) return "nothing allowed";
    const id = choose(row, input);
    if (id === null) return "broken scores";
    if (raw === null) return { id, logprob: NaN, alternatives: [] };
    const alternatives = alternativesOf(logits_V, topLogprobCount ?? 0, logTotal, raw.blocks.maxima);
    return { id, logprob: logits_V[id] - logTotal, alternatives };
  }

  /**
   * Returns the most probable allowed tokens in descending order of probability, each with its raw log-probability.
   * Only sampling parameters that forbid tokens have an effect.
   *
   * @param logits_V raw logits; not modified
   * @param raw blocks of these logits at temperature 1, if known
   */
  best(
    logits_V: Float32Array,
    input: DrawInput,
    countMax: number,
    raw: ScoreBlocks | null = null,
  ): readonly GeneratedToken[] | Extract<NoToken, "broken scores"> {
    const { topLogprobCount } = input.rules;
    const logTotal = logTotalOf(this.#row({ logits: logits_V, ids: null }, input, raw));
    if (Number.isNaN(logTotal)) return "broken scores";
    const { logits, ids } = this.#allowedScores(logits_V, this.#allowedTokens(input));
    const alternatives = alternativesOf(logits_V, topLogprobCount ?? 0, logTotal, raw?.maxima);
    return greatest(logits, countMax, logits === logits_V ? raw?.maxima : undefined)
      .filter((index) => logits[index] > -Infinity)
      .map((index) => ({
        id: ids === null ? index : ids[index],
        logprob: logits[index] - logTotal,
        alternatives,
      }));
  }

  /** Returns the set of allowed tokens; null if all tokens are allowed. */
  #allowedTokens(input: DrawInput): TokenSet | null {
    const steps = forbiddingSteps.filter(({ isNeeded }) => isNeeded(input.rules));
    if (steps.length === 0) return null;
    const allowed = this.#allowed;
    allowed.fill();
    for (const { apply } of steps) apply(allowed, input);
    return allowed;
  }

  /**
   * Returns the logits of the allowed tokens after bias, processors and penalties. If none of these apply and all
   * tokens are allowed, returns the given row itself, which is never modified.
   */
  #scoresLeft(logits_V: Float32Array, allowed: TokenSet | null, input: DrawInput): ScoresLeft {
    const steps = shiftingSteps.filter(({ isNeeded }) => isNeeded(input.rules));
    if (steps.length === 0) return this.#allowedScores(logits_V, allowed);
    const shifted_V = this.#shifted_V;
    shifted_V.set(logits_V);
    if (allowed !== null) forbid(shifted_V, allowed);
    for (const { apply } of steps) apply(shifted_V, input);
    // Tokens are forbidden again, because a processor may have changed the logits of forbidden tokens.
    return this.#allowedScores(shifted_V, allowed);
  }

  /** Returns the logits of the allowed tokens. Returns the given array itself if all tokens are allowed. */
  #allowedScores(logits_V: Float32Array, allowed: TokenSet | null): ScoresLeft {
    const allowedCount = allowed?.count ?? logits_V.length;
    if (allowed === null || allowedCount === logits_V.length) return { logits: logits_V, ids: null };
    if (2 * allowedCount <= logits_V.length) return gather(logits_V, allowed, this.#room);
    const left_V = this.#shifted_V;
    if (left_V !== logits_V) left_V.set(logits_V);
    forbid(left_V, allowed);
    return { logits: left_V, ids: null };
  }

  #row(left: ScoresLeft, { rules, random }: DrawInput, blocks: ScoreBlocks | null): LogitsRow {
    return new LogitsRow(left, this.#room, { sampling: rules.sampling, random }, blocks);
  }
}

/** Returns log-sum-exp of a row's raw logits; NaN if no logit is finite or one is NaN. */
function logTotalOf(row: LogitsRow): number {
  if (!Number.isFinite(row.max)) return NaN;
  return row.max + Math.log(totalMass(row.blocks) / maxScoreMass(row));
}

/** Returns the token that the choosing steps select; null if no logit is finite or one is NaN. */
function choose(row: LogitsRow, { rules }: DrawInput): number | null {
  if (!Number.isFinite(row.max) || row.hasBrokenBlocks) return null;
  for (const { isNeeded, apply } of choosingSteps) if (isNeeded(rules)) apply(row);
  return row.chosenId < 0 ? null : row.chosenId;
}

function alternativesOf(
  logits_V: Float32Array,
  count: number,
  logTotal: number,
  maxima?: Float32Array,
): readonly TokenAlternative[] {
  return greatest(logits_V, count, maxima).map((id) => ({ id, logprob: logits_V[id] - logTotal }));
}

/**
 * Returns the indices of the `count` greatest values in descending order of the values; among equal values, the lower
 * index first.
 *
 * @param maxima greatest value of each block, if known, so that only a few blocks need to be searched
 */
export function greatest(values: Float32Array, count: number, maxima?: Float32Array): readonly number[] {
  const best: number[] = [];
  const size = Math.min(count, values.length);
  if (size === 0) return best;
  let least = -Infinity;
  for (let start = 0; start < values.length; start += blockSize) {
    if (maxima !== undefined && best.length === size && maxima[start / blockSize] <= least) continue;
    const end = Math.min(values.length, start + blockSize);
    for (let index = start; index < end; index++) {
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
  }
  return best;
}

// These functions extract the logits of the allowed tokens, so that later steps process only those.

/** Sets the logits of forbidden tokens to negative infinity. */
function forbid(scores_V: Float32Array, { words }: TokenSet): void {
  for (let index = 0; index < words.length; index++) {
    if (words[index] === 0) {
      scores_V.fill(-Infinity, 32 * index, 32 * index + 32);
      continue;
    }
    // Each iteration handles the lowest 1 bit of the inverted word. This bit stands for a forbidden token.
    for (let word = ~words[index]; word !== 0; word &= word - 1) {
      scores_V[32 * index + (31 - Math.clz32(word & -word))] = -Infinity;
    }
  }
}

/**
 * Collects the logits of the allowed tokens, in the order of their ids.
 *
 * @param logits_V logits of the whole vocabulary; not modified
 * @param room buffers that hold the result
 */
function gather(logits_V: Float32Array, { words }: TokenSet, room: RowBuffers): ScoresLeft {
  const ids_V = room.ids_V;
  const left_V = room.logits_V;
  let count = 0;
  for (let index = 0; index < words.length; index++) {
    let word = words[index];
    if (word === 0) continue;
    const first = 32 * index;
    const end = Math.min(first + 32, logits_V.length);
    // Writes every entry, but advances the write position only if the token is allowed. A conditional jump instead
    // would be mispredicted too often.
    for (let id = first; id < end; id++) {
      ids_V[count] = id;
      left_V[count] = logits_V[id];
      count += word & 1;
      word >>>= 1;
    }
  }
  return { logits: left_V.subarray(0, count), ids: ids_V };
}
