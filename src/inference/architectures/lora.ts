// LoRA adapters (arXiv:2106.09685) in memory: y = x Wᵀ + scale · (x Aᵀ) Bᵀ. `peft-folder.ts` reads and writes their
// files.
import { orderedProjections, projectionNames, type ProjectionName } from "../../base/domain/model.ts";
import { seededRandom } from "../../base/domain/random.ts";
import type { Shape } from "../../lib/graph/dimension.ts";
import type { Architecture, ModelConfig } from "./config.ts";
import { hasProjection, loraNames, loraProjections } from "./parameters.ts";

export interface LoraAdapter {
  readonly rank: number;
  readonly alpha: number;
  /** Factor by which the product B A is multiplied: alpha / rank, or alpha / √rank with rank stabilisation. */
  readonly scale: number;
  /**
   * Adapted projections, in the order of `projectionNames`. The list is the same for all layers; a layer ignores
   * projections that it does not have.
   */
  readonly targets: readonly ProjectionName[];
  /**
   * Matrices by name, in the order of `loraParameters`: `<module path>.lora_A.weight` [rank, inputSize] and `<module
   * path>.lora_B.weight` [outputSize, rank].
   */
  readonly matrices: ReadonlyMap<string, Float32Array>;
}

/** Projections that training does not adapt by default, because PEFT could not apply the exported adapters. */
const projectionsWithoutPeft: Readonly<Partial<Record<Architecture, readonly ProjectionName[]>>> = {
  // PEFT refuses this projection.
  NemotronHForCausalLM: ["out_proj"],
  // PEFT takes these names of dense layers for those of the experts.
  Qwen3MoeForCausalLM: ["gate_proj", "up_proj", "down_proj"],
};

/** Returns the projections that training adapts unless a model names others. */
export function usualTargets({ architecture }: Pick<ModelConfig, "architecture">): readonly ProjectionName[] {
  const excluded = projectionsWithoutPeft[architecture] ?? [];
  return projectionNames.filter((name) => !excluded.includes(name));
}

export interface LoraOptions {
  readonly rank?: number;
  readonly alpha?: number;
  readonly targets?: readonly ProjectionName[];
  readonly seed: number | string;
}

/**
 * Creates an adapter that does not change the model's results, because B is zero. A is uniform within ±1 / √inputSize
 * as in PEFT (Kaiming, a = √5). The same seed gives the same adapter.
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
  const own = orderedProjections(targets).filter((name) => config.layers.some(hasProjection(name)));
  return { rank, alpha, scale: alpha / rank, targets: own, matrices };
}

/**
 * Form of the adapter's matrix A in a serving graph: whole, or in blocks of rows. Blocks cost three more operations per
 * projection, and only high ranks need them; see `linear.ts`.
 */
export type LoraForm = "whole" | "blocks";

/**
 * Maximum number of rows in a block of the matrix A. With so few rows, the runtime never splits the columns of a
 * product among threads.
 */
const blockRankMax = 16;

export function loraFormOf(rank: number): LoraForm {
  return rank <= blockRankMax ? "whole" : "blocks";
}

/**
 * Returns the LoRA inputs of a serving graph, for all projections. B must be given already multiplied by the adapter's
 * scale.
 */
export function servingLoraParameters(
  config: ModelConfig,
  form: LoraForm,
): readonly { readonly name: string; readonly shape: Shape }[] {
  const [block, rank] = form === "whole" ? [["R"], "R"] : [["J", "W"], "J*W"];
  return loraProjections(config, projectionNames).flatMap(({ path, inputSize, outputSize }) => [
    { name: loraNames(path).a, shape: [...block, inputSize] },
    { name: loraNames(path).b, shape: [outputSize, rank] },
  ]);
}

/** Shape and values of one LoRA input of a serving graph. */
export interface LoraInput {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/**
 * Returns the arrays for the inputs of {@link servingLoraParameters}, with A in the form that suits the adapter's rank.
 * * Modules that are not adapted get zeros, and zeros fill up the last block.
 * * An A that needs no zeros is passed without a copy.
 * * For null (the base model), returns zeros of rank 1.
 */
export function servingLoraInputs(
  config: ModelConfig,
  adapter: LoraAdapter | null,
): ReadonlyMap<string, LoraInput> {
  const rank = adapter?.rank ?? 1;
  const blockCount = Math.ceil(rank / blockRankMax);
  const blockSize = Math.ceil(rank / blockCount);
  const filled = blockCount * blockSize;
  const block = loraFormOf(rank) === "whole" ? [rank] : [blockCount, blockSize];
  const inputs = new Map<string, LoraInput>();
  for (const { path, inputSize, outputSize } of loraProjections(config, projectionNames)) {
    const names = loraNames(path);
    const [a, b] = [adapter?.matrices.get(names.a), adapter?.matrices.get(names.b)];
    inputs.set(names.a, { shape: [...block, inputSize], data: padded(a, filled * inputSize) });
    const scaled = new Float32Array(outputSize * filled);
    if (adapter !== null && b !== undefined) scaleRows(b, { rank, factor: adapter.scale }, scaled, filled);
    inputs.set(names.b, { shape: [outputSize, filled], data: scaled });
  }
  return inputs;
}

/**
 * Pads an array with zeros to a length. Returns the same array if it already has this length; an absent array counts as
 * empty.
 */
function padded(values: Float32Array | undefined, length: number): Float32Array {
  if (values?.length === length) return values;
  const filled = new Float32Array(length);
  filled.set(values ?? []);
  return filled;
}

/**
 * Writes the rows of B, multiplied by `factor`, into rows with `width` columns. Uses plain loops for speed, because a
 * large adapter has millions of values.
 */
function scaleRows(
  b: Float32Array,
  { rank, factor }: { readonly rank: number; readonly factor: number },
  into: Float32Array,
  width: number,
): void {
  for (let from = 0, to = 0; from < b.length; from += rank, to += width)
    for (let column = 0; column < rank; column++) into[to + column] = b[from + column] * factor;
}
