// The tensors with which GGUF files describe rotary scalings that have a factor for each pair: Llama 3's, and the lists
// of LongRoPE. Source: llama.cpp's converter.
import { type ConfigFields, rotarySettings } from "./written-keys.ts";
import type { PlannedTensor } from "./written-tensors.ts";

/** Returns the tensors; empty for a model without such a scaling. */
export function rotaryTensors(fields: ConfigFields): readonly PlannedTensor[] {
  const settings = rotarySettings(fields);
  if (settings["rope_type"] === "llama3") return [made("rope_freqs.weight", llama3Factors(fields, settings))];
  const [long, short] = [settings["long_factor"], settings["short_factor"]];
  if (!Array.isArray(long) || !Array.isArray(short)) return [];
  return [
    made("rope_factors_long.weight", long.map(Number)),
    made("rope_factors_short.weight", short.map(Number)),
  ];
}

function made(name: string, values: readonly number[]): PlannedTensor {
  return { name, shape: [values.length], sources: null, values };
}

/** Returns the numbers by which the frequencies are divided: long wavelengths by `factor`, short ones by 1. */
function llama3Factors(fields: ConfigFields, settings: ConfigFields): readonly number[] {
  const number = (name: string, usual: number): number => Number(settings[name] ?? usual);
  const size = Number(
    fields["head_dim"] ?? Number(fields["hidden_size"]) / Number(fields["num_attention_heads"]),
  );
  const [theta, factor] = [number("rope_theta", 10_000), number("factor", 8)];
  const [low, high] = [number("low_freq_factor", 1), number("high_freq_factor", 4)];
  const original = number("original_max_position_embeddings", 8192);
  return Array.from({ length: size / 2 }, (_, pair) => {
    // The converter computes the frequencies in float32.
    const power = Math.fround(theta ** Math.fround(Math.fround(2 * pair) / size));
    const wavelength = Math.fround((2 * Math.PI) / Math.fround(1 / power));
    if (wavelength < original / high) return 1;
    if (wavelength > original / low) return factor;
    const smooth = (original / wavelength - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}
