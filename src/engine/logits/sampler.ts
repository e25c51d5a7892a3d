// Draws the next token of one row, and tells the raw log-probabilities. Steps in order: temperature, top-k, top-p, draw.
// Probabilities are in float64; nothing is sorted that need not be, and no object is made per vocabulary entry.
import type { TokenAlternative } from "../../domain/generation.ts";
import type { Random } from "../../domain/random.ts";
import type { SamplingParameters } from "../../domain/sampling.ts";
import { exponentials } from "./exponential.ts";

export interface DrawnToken {
  readonly id: number;
  /** Natural logarithm of the raw probability; NaN where none was wanted. */
  readonly logprob: number;
  readonly alternatives: readonly TokenAlternative[];
}

export interface DrawOptions {
  readonly sampling: SamplingParameters;
  /** The choice's own stream; one number is taken for each token that is not greedy. */
  readonly random: Random;
  /** Null where log-probabilities are not wanted. */
  readonly topLogprobCount: number | null;
}

/** Buckets by distance from the greatest logit, 1/8 each; the last holds all that is farther. */
const bucketCount = 512;
const bucketsPerUnit = 8;

/** Draws tokens for a vocabulary of one size; holds the arrays that a draw needs, so it is not for use by two at once. */
export class Sampler {
  readonly #weights: Float64Array;
  readonly #buckets = new Float64Array(bucketCount);

  constructor(vocabularySize: number) {
    this.#weights = new Float64Array(vocabularySize);
  }

  /**
   * The next token of a row.
   *
   * @param logits_V raw scores; not modified
   * @returns null when no score is finite or one is not a number: the model has broken down
   */
  draw(logits_V: Float32Array, options: DrawOptions): DrawnToken | null {
    const { sampling, random, topLogprobCount } = options;
    const greedyId = greatestIndex(logits_V);
    const max = logits_V[greedyId];
    if (!Number.isFinite(max)) return null;
    const isGreedy = sampling.temperature === 0;
    let rawTotal = NaN;
    if (topLogprobCount !== null || (!isGreedy && sampling.temperature === 1))
      rawTotal = this.#weigh(logits_V, max, 1);
    if (Number.isNaN(rawTotal) && topLogprobCount !== null) return null;
    let id = greedyId;
    if (!isGreedy) {
      const total = sampling.temperature === 1 ? rawTotal : this.#weigh(logits_V, max, sampling.temperature);
      if (Number.isNaN(total)) return null;
      id = this.#drawWeighted(logits_V, { max, total, sampling, uniform: random.uniform() });
    }
    if (topLogprobCount === null) return { id, logprob: NaN, alternatives: [] };
    const logTotal = max + Math.log(rawTotal);
    return {
      id,
      logprob: logits_V[id] - logTotal,
      alternatives: greatest(logits_V, topLogprobCount).map((other) => ({
        id: other,
        logprob: logits_V[other] - logTotal,
      })),
    };
  }

  #weigh(logits_V: Float32Array, max: number, temperature: number): number {
    return exponentials(this.#weights, logits_V, { max, temperature });
  }

  /** Draws among what top-k and top-p leave, in the order of the ids. */
  #drawWeighted(
    logits_V: Float32Array,
    draw: {
      readonly max: number;
      readonly total: number;
      readonly sampling: SamplingParameters;
      readonly uniform: number;
    },
  ): number {
    const weights = this.#weights;
    const { max, sampling, uniform } = draw;
    let total = draw.total;
    let cut: Cut = keepAll;
    if (sampling.topK > 0 && sampling.topK < weights.length) {
      cut = { logit: this.#kthLogit(logits_V, max, sampling.topK), lastId: weights.length };
      total = this.#weightAbove(logits_V, cut);
    }
    if (sampling.topP < 1) {
      cut = this.#nucleusCut(logits_V, { max, total, above: cut, topP: sampling.topP });
      total = this.#weightAbove(logits_V, cut);
    }
    const { logit, lastId } = cut;
    let left = uniform * total;
    let chosen = -1;
    for (let id = 0; id < weights.length; id++) {
      const weight = weights[id];
      const isKept = logits_V[id] > logit || (logits_V[id] === logit && id <= lastId);
      if (!isKept || weight === 0) continue;
      chosen = id;
      left -= weight;
      if (left < 0) break;
    }
    return chosen;
  }

  #weightAbove(logits_V: Float32Array, cut: Cut): number {
    let total = 0;
    for (let id = 0; id < logits_V.length; id++) {
      if (isKept(cut, logits_V[id], id)) total += this.#weights[id];
    }
    return total;
  }

  /** The k-th greatest logit: whole buckets are counted, only the one it falls into is sorted. */
  #kthLogit(logits_V: Float32Array, max: number, k: number): number {
    const counts = this.#buckets.fill(0);
    for (let id = 0; id < logits_V.length; id++) counts[bucketOf(max, logits_V[id])] += 1;
    let bucket = 0;
    let before = 0;
    while (before + counts[bucket] < k) before += counts[bucket++];
    const members: number[] = [];
    for (const logit of logits_V) if (bucketOf(max, logit) === bucket) members.push(logit);
    return members.sort((a, b) => b - a)[k - before - 1];
  }

  /**
   * Where top-p cuts: from the least probable up, tokens go while what went is at most 1 - p of the weight; the most
   * probable one stays. Of equal logits the higher id goes first.
   */
  #nucleusCut(
    logits_V: Float32Array,
    options: { readonly max: number; readonly total: number; readonly above: Cut; readonly topP: number },
  ): Cut {
    const { max, total, above, topP } = options;
    const masses = this.#buckets.fill(0);
    for (let id = 0; id < logits_V.length; id++) {
      if (isKept(above, logits_V[id], id)) masses[bucketOf(max, logits_V[id])] += this.#weights[id];
    }
    const dropMax = (1 - topP) * total;
    let dropped = 0;
    let bucket = bucketCount - 1;
    while (bucket > 0 && dropped + masses[bucket] <= dropMax) dropped += masses[bucket--];
    const members: number[] = [];
    for (let id = 0; id < logits_V.length; id++) {
      if (bucketOf(max, logits_V[id]) === bucket && isKept(above, logits_V[id], id)) members.push(id);
    }
    members.sort((a, b) => logits_V[a] - logits_V[b] || b - a);
    let index = 0;
    while (index < members.length - 1 && dropped + this.#weights[members[index]] <= dropMax) {
      dropped += this.#weights[members[index++]];
    }
    return { logit: logits_V[members[index]], lastId: members[index] };
  }
}

/** Keeps logits above `logit`, and of those equal to it the ids up to `lastId`. */
interface Cut {
  readonly logit: number;
  readonly lastId: number;
}

const keepAll: Cut = { logit: -Infinity, lastId: Infinity };

function isKept(cut: Cut, logit: number, id: number): boolean {
  return logit > cut.logit || (logit === cut.logit && id <= cut.lastId);
}

function bucketOf(max: number, logit: number): number {
  const place = (max - logit) * bucketsPerUnit;
  return place < bucketCount - 1 ? place | 0 : bucketCount - 1;
}

/** The index of the greatest value, the lowest of equals; a row of NaN gives 0. */
function greatestIndex(values: Float32Array): number {
  let best = 0;
  let bestValue = values[0];
  for (let index = 1; index < values.length; index++) {
    if (values[index] > bestValue) {
      best = index;
      bestValue = values[index];
    }
  }
  return best;
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
