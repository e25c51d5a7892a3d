// Computes the angles of the rotary position embedding (RoFormer, arXiv:2104.09864), for serving and training alike.

import { unreachable } from "../../base/domain/assert.ts";

export interface RotaryConfig {
  /** Base of the rotary frequencies (`rope_theta`). */
  readonly theta: number;
  readonly scaling: RotaryScaling;
  /** Number of dimensions of each head that are rotated; absent to use the model's `rotarySize`. */
  readonly size?: number;
  /**
   * Parameters of a factor that grows with the position and multiplies queries, as in Llama 4 and Ministral 3; absent
   * if queries have no such factor.
   */
  readonly growth?: QueryGrowth;
}

/** Queries at position p are multiplied by 1 + beta · ln(1 + ⌊p / period⌋). */
export interface QueryGrowth {
  readonly beta: number;
  readonly period: number;
}

/**
 * Method that extends the context to longer texts. A pair is two dimensions of a head that are rotated together.
 * * `llama3` leaves the short wavelengths unchanged.
 * * `yarn` (arXiv:2309.00071) leaves unchanged the pairs that turn often within the original context.
 * * `longrope` (arXiv:2402.13753) has a factor for each of the rotarySize / 2 pairs.
 * * `proportional` rotates the first pairs of a whole head of `headSize`, whose two dimensions are half a head apart.
 * * `yarn` and `longrope` also multiply all cosines and sines by one factor.
 */
export type RotaryScaling =
  | { readonly kind: "none" }
  | { readonly kind: "linear"; readonly factor: number }
  | {
      readonly kind: "llama3";
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      readonly originalContextLength: number;
    }
  | {
      readonly kind: "yarn";
      readonly factor: number;
      readonly originalContextLength: number;
      /** Pairs that turn at least this often within the original context are unchanged. */
      readonly turnsMin: number;
      /**
       * The frequency of pairs that turn at most this often within the original context is divided by the whole factor.
       */
      readonly turnsMax: number;
      /** True if the indices of pairs that follow from `turnsMin` and `turnsMax` are rounded outwards to integers. */
      readonly isTruncated: boolean;
      readonly attentionFactor: number;
    }
  | { readonly kind: "proportional"; readonly factor: number; readonly headSize: number }
  | { readonly kind: "longrope"; readonly factors: readonly number[]; readonly attentionFactor: number };

/** Returns the angle per position of each of the rotarySize / 2 pairs, in radians. */
export function inverseFrequencies(rotary: RotaryConfig, rotarySize: number): Float64Array {
  const frequencies = new Float64Array(rotarySize / 2);
  for (let pair = 0; pair < frequencies.length; pair++) {
    const size = rotary.scaling.kind === "proportional" ? rotary.scaling.headSize : rotarySize;
    const frequency = rotary.theta ** ((-2 * pair) / size);
    frequencies[pair] = scaled(frequency, rotary.scaling, { pair, theta: rotary.theta, rotarySize });
  }
  return frequencies;
}

/**
 * Returns the cosines and sines of positions 0 … positionCount - 1.
 *
 * @returns two arrays [positionCount, rotarySize / 2]
 */
export function rotaryTables(
  rotary: RotaryConfig,
  { rotarySize, positionCount }: { readonly rotarySize: number; readonly positionCount: number },
): { readonly cosines: Float32Array; readonly sines: Float32Array } {
  const frequencies = inverseFrequencies(rotary, rotarySize);
  const scale = "attentionFactor" in rotary.scaling ? rotary.scaling.attentionFactor : 1;
  const cosines = new Float32Array(positionCount * frequencies.length);
  const sines = new Float32Array(positionCount * frequencies.length);
  for (let position = 0; position < positionCount; position++) {
    const size = scale * growthAt(rotary.growth, position);
    for (let pair = 0; pair < frequencies.length; pair++) {
      // Multiplies in float32 before the cosine, as the reference implementation does. In double precision, results at
      // far positions would differ noticeably.
      const angle = Math.fround(position * Math.fround(frequencies[pair]));
      cosines[position * frequencies.length + pair] = Math.fround(Math.cos(angle)) * size;
      sines[position * frequencies.length + pair] = Math.fround(Math.sin(angle)) * size;
    }
  }
  return { cosines, sines };
}

function growthAt(growth: QueryGrowth | undefined, position: number): number {
  return growth === undefined ? 1 : 1 + growth.beta * Math.log1p(Math.floor(position / growth.period));
}

interface Pair {
  readonly pair: number;
  readonly theta: number;
  readonly rotarySize: number;
}

function scaled(frequency: number, scaling: RotaryScaling, place: Pair): number {
  switch (scaling.kind) {
    case "none":
      return frequency;
    case "linear":
      return frequency / scaling.factor;
    case "llama3": {
      // Between the two wavelength limits, the scaling increases gradually, as in the Llama 3.1 reference code.
      const turns = (scaling.originalContextLength * frequency) / (2 * Math.PI);
      if (turns < scaling.lowFrequencyFactor) return frequency / scaling.factor;
      if (turns > scaling.highFrequencyFactor) return frequency;
      const blend =
        (turns - scaling.lowFrequencyFactor) / (scaling.highFrequencyFactor - scaling.lowFrequencyFactor);
      return (1 - blend) * (frequency / scaling.factor) + blend * frequency;
    }
    case "yarn": {
      const share = yarnShare(scaling, place);
      return (share * frequency) / scaling.factor + (1 - share) * frequency;
    }
    case "longrope":
      return frequency / scaling.factors[place.pair];
    case "proportional":
      return frequency / scaling.factor;
    default:
      return unreachable(scaling);
  }
}

/**
 * Returns how far YaRN's scaling applies to a pair, from 0 (frequency unchanged) to 1 (divided by the whole factor).
 */
function yarnShare(
  { originalContextLength, turnsMin, turnsMax, isTruncated }: RotaryScaling & { readonly kind: "yarn" },
  { pair, theta, rotarySize }: Pair,
): number {
  const pairThatRotates = (times: number): number =>
    (rotarySize * Math.log(originalContextLength / (times * 2 * Math.PI))) / (2 * Math.log(theta));
  const [first, last] = [pairThatRotates(turnsMin), pairThatRotates(turnsMax)];
  const low = Math.max(isTruncated ? Math.floor(first) : first, 0);
  const high = Math.min(isTruncated ? Math.ceil(last) : last, rotarySize - 1);
  return Math.min(Math.max((pair - low) / (high === low ? 0.001 : high - low), 0), 1);
}
