// Rotary position embedding (RoFormer, arXiv:2104.09864): the angles, the same for serving and training.

import { unreachable } from "../domain/assert.ts";

export interface RotaryConfig {
  /** The base of the wavelengths. */
  readonly theta: number;
  readonly scaling: RotaryScaling;
}

/**
 * How a longer context was fitted in; `llama3` leaves the short wavelengths as they are, and `longrope` (arXiv:2402.13753)
 * has a factor for each of the rotarySize / 2 pairs, and one for all cosines and sines.
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
  | { readonly kind: "longrope"; readonly factors: readonly number[]; readonly attentionFactor: number };

/** The angle per position of each of the rotarySize / 2 pairs. */
export function inverseFrequencies(rotary: RotaryConfig, rotarySize: number): Float64Array {
  const frequencies = new Float64Array(rotarySize / 2);
  for (let pair = 0; pair < frequencies.length; pair++) {
    frequencies[pair] = scaled(rotary.theta ** ((-2 * pair) / rotarySize), rotary.scaling, pair);
  }
  return frequencies;
}

/**
 * The cosines and sines of positions 0 … positionCount - 1.
 *
 * @returns two arrays [positionCount, rotarySize / 2]
 */
export function rotaryTables(
  rotary: RotaryConfig,
  { rotarySize, positionCount }: { readonly rotarySize: number; readonly positionCount: number },
): { readonly cosines: Float32Array; readonly sines: Float32Array } {
  const frequencies = inverseFrequencies(rotary, rotarySize);
  const scale = rotary.scaling.kind === "longrope" ? rotary.scaling.attentionFactor : 1;
  const cosines = new Float32Array(positionCount * frequencies.length);
  const sines = new Float32Array(positionCount * frequencies.length);
  for (let position = 0; position < positionCount; position++) {
    for (let pair = 0; pair < frequencies.length; pair++) {
      // The reference multiplies in float32 and takes the cosine of that; far positions differ visibly otherwise.
      const angle = Math.fround(position * Math.fround(frequencies[pair]));
      cosines[position * frequencies.length + pair] = Math.fround(Math.cos(angle)) * scale;
      sines[position * frequencies.length + pair] = Math.fround(Math.sin(angle)) * scale;
    }
  }
  return { cosines, sines };
}

function scaled(frequency: number, scaling: RotaryScaling, pair: number): number {
  switch (scaling.kind) {
    case "none":
      return frequency;
    case "linear":
      return frequency / scaling.factor;
    case "llama3": {
      // Between the two wavelengths the scaling sets in smoothly (Llama 3.1 reference code).
      const turns = (scaling.originalContextLength * frequency) / (2 * Math.PI);
      if (turns < scaling.lowFrequencyFactor) return frequency / scaling.factor;
      if (turns > scaling.highFrequencyFactor) return frequency;
      const blend =
        (turns - scaling.lowFrequencyFactor) / (scaling.highFrequencyFactor - scaling.lowFrequencyFactor);
      return (1 - blend) * (frequency / scaling.factor) + blend * frequency;
    }
    case "longrope":
      return frequency / scaling.factors[pair];
    default:
      return unreachable(scaling);
  }
}
