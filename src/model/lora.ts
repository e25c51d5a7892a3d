// LoRA adapters (arXiv:2106.09685) as values: y = x Wᵀ + scale · (x Aᵀ) Bᵀ. Their files are in peft-folder.ts.
import { seededRandom } from "../domain/random.ts";
import type { ModelConfig } from "./config.ts";
import {
  loraNames,
  loraParameters,
  loraProjections,
  projectionNames,
  type ProjectionName,
} from "./parameters.ts";

export interface LoraAdapter {
  readonly rank: number;
  readonly alpha: number;
  /** What multiplies the product of the matrices: alpha / rank, or alpha / √rank with rank stabilisation. */
  readonly scale: number;
  /** In the order of `projectionNames`; adapted in every layer. */
  readonly targets: readonly ProjectionName[];
  /** By `<module path>.lora_A.weight` [rank, inputSize] and `<module path>.lora_B.weight` [outputSize, rank], in the order of `loraParameters`. */
  readonly matrices: ReadonlyMap<string, Float32Array>;
}

export interface LoraOptions {
  readonly rank?: number;
  readonly alpha?: number;
  readonly targets?: readonly ProjectionName[];
  readonly seed: number | string;
}

/**
 * An adapter that changes nothing yet: A uniform within 1 / √inputSize as PEFT draws it (Kaiming, a = √5), B zero.
 * The same seed gives the same adapter.
 */
export function createLoraAdapter(
  config: ModelConfig,
  { rank = 8, alpha = 16, targets = projectionNames, seed }: LoraOptions,
): LoraAdapter {
  const random = seededRandom("lora", seed);
  const matrices = new Map<string, Float32Array>();
  for (const { path, inputSize, outputSize } of loraProjections(config, targets)) {
    const bound = 1 / Math.sqrt(inputSize);
    const a = Float32Array.from({ length: rank * inputSize }, () => bound * (2 * random.uniform() - 1));
    matrices.set(loraNames(path).a, a);
    matrices.set(loraNames(path).b, new Float32Array(outputSize * rank));
  }
  const ordered = projectionNames.filter((name) => targets.includes(name));
  return { rank, alpha, scale: alpha / rank, targets: ordered, matrices };
}

/** A named array to feed a graph's LoRA input with. */
export interface LoraInput {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/**
 * The arrays for a serving graph, whose LoRA inputs cover all seven projections: the scale is folded into B, and modules
 * without an adapter get zeros. Null stands for the base model: zeros of rank 1.
 */
export function servingLoraInputs(
  config: ModelConfig,
  adapter: LoraAdapter | null,
): ReadonlyMap<string, LoraInput> {
  const rank = adapter?.rank ?? 1;
  const scale = adapter?.scale ?? 1;
  const inputs = new Map<string, LoraInput>();
  for (const { name, shape } of loraParameters(config, { targets: projectionNames, rank })) {
    const matrix = adapter?.matrices.get(name) ?? new Float32Array(shape[0] * shape[1]);
    const isB = name.endsWith(".lora_B.weight");
    const data = isB ? matrix.map((value) => value * scale) : matrix;
    inputs.set(name, { shape, data });
  }
  return inputs;
}
