// One row of logits during a draw, which the sampling steps read and narrow. A narrowed row holds only the logits that
// may still be drawn, so later steps process fewer. This module itself chooses no token.
import type { Random } from "../../../base/domain/random.ts";
import type { SamplingParameters } from "../../../base/domain/sampling.ts";
import { blockSize, blocksOf, type ScoreBlocks } from "./blocks/score-blocks.ts";

/** Options of the draw for which a row is used. */
export interface RowOptions {
  readonly sampling: SamplingParameters;
  readonly random: Random;
}

/** Logits of the tokens that may still be drawn, in the order of their token ids. */
export interface ScoresLeft {
  readonly logits: Float32Array;
  /** Token id of each logit, by its index; null if the index is the id. */
  readonly ids: Int32Array | null;
}

/** Buffers for the remaining logits of a row. Only one row at a time may use them. */
export class RowBuffers {
  readonly ids_V: Int32Array;
  readonly logits_V: Float32Array;
  readonly weights_V: Float64Array;
  /** Weights of the logits in one block. */
  readonly blockWeights = new Float64Array(blockSize);

  constructor(vocabularySize: number) {
    this.ids_V = new Int32Array(vocabularySize);
    this.logits_V = new Float32Array(vocabularySize);
    this.weights_V = new Float64Array(vocabularySize);
  }
}

export class LogitsRow {
  readonly options: RowOptions;
  /** Token id of the greatest logit; the lowest id among equal logits. */
  readonly greatestId: number;
  /** The greatest logit. */
  readonly max: number;
  /** Temperature, by which logits are divided when weights are computed. */
  temperature = 1;
  /**
   * Sum of the remaining weights, added in the order of the ids; NaN if a logit is NaN. See {@link
   * LogitsRow.computeWeights}.
   */
  total = 0;
  /** Chosen token id; -1 until a token is chosen. */
  chosenId = -1;
  readonly #room: RowBuffers;
  #left: ScoresLeft;
  #weighedAt: number | null = null;
  /** Block summaries of the remaining logits; null if not computed. */
  #blocks: ScoreBlocks | null;

  /**
   * @param left remaining logits; modified only if they are in the buffers of `room`
   * @param blocks blocks of these logits, if known; they save passes over the logits
   */
  constructor(left: ScoresLeft, room: RowBuffers, options: RowOptions, blocks: ScoreBlocks | null = null) {
    const index = greatestIndex(left.logits, blocks?.maxima);
    this.#left = left;
    this.#room = room;
    this.#blocks = blocks;
    this.options = options;
    this.greatestId = this.idAt(index);
    this.max = left.logits[index];
  }

  /** Logits of the tokens that may still be drawn. */
  get logits(): Float32Array {
    return this.#left.logits;
  }

  /**
   * Weight of each remaining logit in the draw; 1 for the greatest logit. Valid after {@link LogitsRow.computeWeights}.
   */
  get weights(): Float64Array {
    return this.#room.weights_V.subarray(0, this.logits.length);
  }

  /** Greatest logit of each block of the remaining logits; null if the blocks are not computed. */
  get maxima(): Float32Array | null {
    return this.#blocks?.maxima ?? null;
  }

  /** True if the masses of the row's blocks were computed and one of them is NaN, which means that a logit is NaN. */
  get hasBrokenBlocks(): boolean {
    return this.#blocks?.masses.some(Number.isNaN) ?? false;
  }

  /** Block summaries of the remaining logits, at the row's temperature. */
  get blocks(): ScoreBlocks {
    if (this.#blocks?.temperature !== this.temperature) {
      this.computeWeights();
      this.#blocks = blocksOf(this.logits, this.weights, this.temperature);
    }
    return this.#blocks;
  }

  idAt(index: number): number {
    const { ids } = this.#left;
    return ids === null ? index : ids[index];
  }

  /** Computes the weights and their total at the row's temperature, unless they are up to date. */
  computeWeights(): void {
    const { temperature, logits, max } = this;
    if (temperature === this.#weighedAt) return;
    this.total = exponentials(this.weights, logits, { max, temperature });
    this.#weighedAt = temperature;
  }

  /** Returns the weights of the logits in one block. The array is valid until the next call. */
  weightsOf(block: number): Float64Array {
    const { temperature, logits, max } = this;
    const start = block * blockSize;
    const { blockWeights } = this.#room;
    const weights = blockWeights.subarray(0, Math.min(blockSize, logits.length - start));
    exponentials(weights, logits, { max, temperature, start });
    return weights;
  }

  /** Narrows the row. Keeps logits greater than `logit`, logits equal to it up to the index `lastIndex`, and NaN. */
  narrow(logit: number, lastIndex = Infinity): void {
    const { ids_V, logits_V, weights_V } = this.#room;
    const { maxima } = this;
    const { logits, ids } = this.#left;
    let count = 0;
    let total = 0;
    for (let start = 0; start < logits.length; start += blockSize) {
      if (maxima !== null && maxima[start / blockSize] < logit) continue;
      const end = Math.min(logits.length, start + blockSize);
      for (let index = start; index < end; index++) {
        const own = logits[index];
        if (own < logit || (own === logit && index > lastIndex)) continue;
        ids_V[count] = ids === null ? index : ids[index];
        logits_V[count] = own;
        weights_V[count] = weights_V[index];
        total += weights_V[count];
        count += 1;
      }
    }
    this.#left = { logits: logits_V.subarray(0, count), ids: ids_V };
    this.#blocks = null;
    if (this.#weighedAt !== null) this.total = total;
  }
}

/** Returns the index of the greatest value, the lowest index among equals; 0 for a row of NaN. */
function greatestIndex(values: Float32Array, maxima?: Float32Array): number {
  if (maxima === undefined) return greatestFrom(values, 0, values.length);
  const start = greatestFrom(maxima, 0, maxima.length) * blockSize;
  return greatestFrom(values, start, Math.min(values.length, start + blockSize));
}

function greatestFrom(values: Float32Array, start: number, end: number): number {
  let best = start;
  let bestValue = values[start];
  for (let index = start + 1; index < end; index++) {
    if (values[index] > bestValue) {
      best = index;
      bestValue = values[index];
    }
  }
  return best;
}

// Computes exp for whole rows of logits, several times faster than Math.exp. Two tables hold the powers of 2, for the
// whole part of an exponent and for its 256ths; a power series adds the small remainder. For a logit at distance d from
// the greatest logit, the relative error is about d rounding errors, as with Math.exp.

const partsPerPower = 256;
const rest = Math.LN2 / partsPerPower;
const partsPerUnit = partsPerPower / Math.LN2;
/** Powers 2^-n, down to the smallest positive float64. */
const wholePowers = Float64Array.from({ length: 1076 }, (_, exponent) => 2 ** -exponent);
const partPowers = Float64Array.from({ length: partsPerPower }, (_, part) => 2 ** (-part / partsPerPower));

/** Returns exp(-distance); 0 if the result is below the range of float64, NaN for NaN. */
export function exponentialOf(distance: number): number {
  if (distance >= 745) return 0;
  const parts = (distance * partsPerUnit) | 0;
  const left = parts * rest - distance;
  const series = 1 + left * (1 + left * (1 / 2 + left * (1 / 6 + left * (1 / 24))));
  return wholePowers[parts >> 8] * partPowers[parts & 255] * series;
}

/**
 * Fills `weights_V` with exp((logit - max) / temperature).
 *
 * @param logits_V logits of at least the same number, starting at `start`
 * @param options.max the greatest of the logits; finite
 * @returns the sum of the weights, added in the order of the ids; NaN if a logit is NaN
 */
export function exponentials(
  weights_V: Float64Array,
  logits_V: Float32Array,
  options: { readonly max: number; readonly temperature: number; readonly start?: number },
): number {
  const { max, start = 0 } = options;
  const scale = 1 / options.temperature;
  let total = 0;
  for (let id = 0; id < weights_V.length; id++) {
    const weight = exponentialOf((max - logits_V[start + id]) * scale);
    weights_V[id] = weight;
    total += weight;
  }
  return total;
}

// Maps a random number to one of the remaining logits. Each logit covers a share of the number's range in proportion to
// its weight, in the order of the indices.

/** Draws the index of a remaining logit with one number of the row's random stream. Returns -1 if a logit is NaN. */
export function drawIndex(row: LogitsRow): number {
  const { masses } = row.blocks;
  const total = totalMass(row.blocks);
  if (Number.isNaN(total)) return -1;
  const aim = row.options.random.uniform() * total;
  let chosen = 0;
  let start = 0;
  let end = 0;
  for (let block = 0; block < masses.length; block++) {
    if (masses[block] === 0) continue;
    chosen = block;
    start = end;
    end += masses[block];
    if (aim < end) break;
  }
  return chosen * blockSize + indexOfPart(row.weightsOf(chosen), (aim - start) / (end - start));
}

/**
 * Returns the index at which the running sum of weights exceeds a share of their total. An entry of weight 0 is never
 * chosen.
 *
 * @param part share of the total weight, in [0, 1)
 */
function indexOfPart(weights: Float64Array, part: number): number {
  let left = part * sumOf(weights);
  let chosen = 0;
  for (let index = 0; index < weights.length; index++) {
    if (weights[index] === 0) continue;
    chosen = index;
    left -= weights[index];
    if (left < 0) break;
  }
  return chosen;
}

/** Returns the total weight of all logits, in the unit of the blocks' masses. */
export function totalMass({ masses }: ScoreBlocks): number {
  return sumOf(masses);
}

/** Returns the weight of the greatest logit, in the unit of the blocks' masses. */
export function maxScoreMass(row: LogitsRow): number {
  const { masses, maxima } = row.blocks;
  const block = maxima.indexOf(row.max);
  return masses[block] / sumOf(row.weightsOf(block));
}

function sumOf(values: Float32Array | Float64Array): number {
  let sum = 0;
  for (let index = 0; index < values.length; index++) sum += values[index];
  return sum;
}
