// Chooses the next token of one row, and says its raw log-probabilities: those before any step that a request asks for.
// Probabilities are in float64; nothing is sorted that need not be, and no object is made per vocabulary entry.
import type { GeneratedToken, TokenAlternative } from "../../../base/domain/generation.ts";
import { blockSize, type ScoreBlocks } from "./blocks/score-blocks.ts";
import type { DrawInput, DrawRules } from "./draw-input.ts";
import { totalMass, unitOf, LogitsRow, RowRoom, type ScoresLeft } from "./logits-row.ts";
import { choosingSteps, drawsFromRawScores, forbiddingSteps, isGreedy, shiftingSteps } from "./steps.ts";
import { TokenSet } from "./token-set.ts";

/** Why no token was drawn. */
export type NoToken =
  /** No score is finite, or one is not a number: the model, or a processor, has broken down. */
  | "broken scores"
  /** Everything is forbidden. */
  | "nothing allowed";

/** Blocks of the raw scores of a row that save a draw passes over them; where there are none it takes these passes. */
export interface DrawBlocks {
  /** At the temperature 1, for log-probabilities. */
  readonly raw: ScoreBlocks | null;
  /** At the request's temperature, where raw scores are what is drawn from. */
  readonly tempered: ScoreBlocks | null;
}

/** The temperatures of the blocks that a request's draws have a use for; null for none. */
export function blockTemperatures(rules: DrawRules): { readonly [Kind in keyof DrawBlocks]: number | null } {
  const { temperature } = rules.sampling;
  // At lower ones float32 does not tell the products of scores apart well enough.
  const isTempered = !isGreedy(rules) && temperature >= 0.1 && drawsFromRawScores(rules);
  return { raw: rules.topLogprobCount === null ? null : 1, tempered: isTempered ? temperature : null };
}

const noBlocks: DrawBlocks = { raw: null, tempered: null };

/** Draws tokens for a vocabulary of one size; holds the arrays that a draw needs, so it is not for use by two at once. */
export class Sampler {
  readonly #shifted_V: Float32Array;
  readonly #allowed: TokenSet;
  readonly #room: RowRoom;

  constructor(vocabularySize: number) {
    this.#shifted_V = new Float32Array(vocabularySize);
    this.#allowed = new TokenSet(vocabularySize);
    this.#room = new RowRoom(vocabularySize);
  }

  /**
   * The next token of a row, or why there is none.
   *
   * @param logits_V raw scores; not modified
   * @param blocks of these, as {@link blockTemperatures} has them
   * @throws ServiceError where a processor does
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
    // Where the model's own scores are such, nothing was forbidden.
    if (row.max === -Infinity && left.logits !== logits_V) return "nothing allowed";
    const id = choose(row, input);
    if (id === null) return "broken scores";
    if (raw === null) return { id, logprob: NaN, alternatives: [] };
    const alternatives = alternativesOf(logits_V, topLogprobCount ?? 0, logTotal, raw.blocks.maxima);
    return { id, logprob: logits_V[id] - logTotal, alternatives };
  }

  /**
   * The most probable tokens that may come, in order, each with its raw log-probability. Of what is asked of draws only
   * what forbids tokens counts.
   *
   * @param logits_V raw scores; not modified
   * @param raw of these, at the temperature 1, where they are known
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
      .filter((place) => logits[place] > -Infinity)
      .map((place) => ({
        id: ids === null ? place : ids[place],
        logprob: logits[place] - logTotal,
        alternatives,
      }));
  }

  /** The tokens that may come; null where all may. */
  #allowedTokens(input: DrawInput): TokenSet | null {
    const steps = forbiddingSteps.filter(({ isNeeded }) => isNeeded(input.rules));
    if (steps.length === 0) return null;
    const allowed = this.#allowed;
    allowed.fill();
    for (const { apply } of steps) apply(allowed, input);
    return allowed;
  }

  /** Shifted scores of the tokens that may come: the row itself where nothing is asked of it, never changed in place. */
  #scoresLeft(logits_V: Float32Array, allowed: TokenSet | null, input: DrawInput): ScoresLeft {
    const steps = shiftingSteps.filter(({ isNeeded }) => isNeeded(input.rules));
    if (steps.length === 0) return this.#allowedScores(logits_V, allowed);
    const shifted_V = this.#shifted_V;
    shifted_V.set(logits_V);
    if (allowed !== null) forbid(shifted_V, allowed);
    for (const { apply } of steps) apply(shifted_V, input);
    // Once more: whatever a processor made of them, they may not come.
    return this.#allowedScores(shifted_V, allowed);
  }

  /** Scores of the tokens that may come: the given ones where all may. */
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

/** The logarithm of the sum of a raw row's exponentials; NaN when no score is finite or one is not a number. */
function logTotalOf(row: LogitsRow): number {
  if (!Number.isFinite(row.max)) return NaN;
  return row.max + Math.log(totalMass(row.blocks) / unitOf(row));
}

/** The token that the steps of a row choose; null when no score is finite or one is not a number. */
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
 * The indices of the `count` greatest values in order, the lower index first among equals.
 *
 * @param maxima the greatest values of blocks, where they are known: few blocks are then looked into
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

// The scores of the tokens that may come, without the others: what draws from them then passes over no more than it must.

/** Makes the scores of tokens that may not come negative infinity. */
function forbid(scores_V: Float32Array, { words }: TokenSet): void {
  for (let index = 0; index < words.length; index++) {
    if (words[index] === 0) {
      scores_V.fill(-Infinity, 32 * index, 32 * index + 32);
      continue;
    }
    // The lowest bit that is not set is set each time.
    for (let word = ~words[index]; word !== 0; word &= word - 1) {
      scores_V[32 * index + (31 - Math.clz32(word & -word))] = -Infinity;
    }
  }
}

/**
 * The scores of the tokens that may come, in the order of their ids.
 *
 * @param logits_V of the whole vocabulary; not modified
 * @param room what is returned lies in it
 */
function gather(logits_V: Float32Array, { words }: TokenSet, room: RowRoom): ScoresLeft {
  const ids_V = room.ids_V;
  const left_V = room.logits_V;
  let count = 0;
  for (let index = 0; index < words.length; index++) {
    let word = words[index];
    if (word === 0) continue;
    const first = 32 * index;
    const end = Math.min(first + 32, logits_V.length);
    // Each is written, and stays where its bit is set: a branch would be guessed wrong too often.
    for (let id = first; id < end; id++) {
      ids_V[count] = id;
      left_V[count] = logits_V[id];
      count += word & 1;
      word >>>= 1;
    }
  }
  return { logits: left_V.subarray(0, count), ids: ids_V };
}
