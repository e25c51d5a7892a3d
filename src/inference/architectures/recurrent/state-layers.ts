// Sizes and parameters of layers that keep a state of a fixed size: convolutions, delta rules and Mamba-2.
// `parameters.ts` has the norms before these layers and most of their projections.
import type { ModelConfig } from "../config.ts";
import { moduleNames } from "../module-names.ts";

/** Returns the width of a layer's result before its output projection (`out_proj`). */
export function outputWidth({ layers, width, delta, mamba }: ModelConfig, layer: number): number {
  const { kind } = layers[layer];
  if (kind === "delta" && delta !== null) return delta.valueHeads * delta.valueSize;
  return kind === "mamba" && mamba !== null ? mamba.heads * mamba.headSize : width;
}

/**
 * Returns the output width of a layer's `in_proj`. Its output consists of Mamba-2's gate, convolution input and steps,
 * or of the three factors of a gated convolution.
 */
export function inputWidth(config: ModelConfig, layer: number): number {
  const { layers, width, mamba } = config;
  if (layers[layer].kind !== "mamba" || mamba === null) return 3 * width;
  return outputWidth(config, layer) + convolutionWidth(config, layer) + mamba.heads;
}

/** True if the projections before and after a layer's convolution or state have biases. */
export function hasProjectionBias({ layers, convolution, mamba }: ModelConfig, layer: number): boolean {
  const { kind } = layers[layer];
  if (kind === "mamba") return mamba?.hasProjectionBias === true;
  return kind === "convolution" && convolution?.hasBias === true;
}

/** Returns the path of a layer's convolution, such as `model.layers.0.conv.conv`. */
export function convolutionPath({ layers, architecture }: ModelConfig, layer: number): string {
  const isWhole = layers[layer].kind === "convolution";
  return `model.layers.${layer}.${isWhole ? "conv.conv" : `${moduleNames(architecture).recurrence}.conv1d`}`;
}

/**
 * Returns the number of channels of a layer's convolution. In a layer with a delta rule or Mamba-2, one convolution
 * covers queries, keys and values.
 */
export function convolutionWidth({ layers, width, delta, mamba }: ModelConfig, layer: number): number {
  const { kind } = layers[layer];
  if (kind === "delta" && delta !== null)
    return 2 * delta.keyHeads * delta.keySize + delta.valueHeads * delta.valueSize;
  if (kind === "mamba" && mamba !== null)
    return 2 * mamba.groups * mamba.stateSize + mamba.heads * mamba.headSize;
  return width;
}

/** Returns the parameter names of a layer's delta rule or Mamba-2, except those of its convolution and projections. */
export function recurrenceNames(
  { architecture }: ModelConfig,
  layer: number,
): Readonly<Record<"decay" | "stepBias" | "skip" | "norm", string>> {
  const path = `model.layers.${layer}.${moduleNames(architecture).recurrence}`;
  return {
    decay: `${path}.A_log`,
    stepBias: `${path}.dt_bias`,
    skip: `${path}.D`,
    norm: `${path}.norm.weight`,
  };
}

/** Name and shape of a parameter, as in `parameters.ts`, which imports this module. */
interface StateParameter {
  readonly name: string;
  readonly shape: readonly number[];
}

/**
 * Returns the parameters of a layer's convolution and state. Kernels of a convolution are [width, 1, kernel size], as
 * PyTorch stores them.
 */
export function stateLayerParameters(config: ModelConfig, layer: number): readonly StateParameter[] {
  const { kind } = config.layers[layer];
  const { convolution, delta, mamba } = config;
  if (convolution === null || kind === "attention" || kind === "feed-forward") return [];
  const path = convolutionPath(config, layer);
  const width = convolutionWidth(config, layer);
  const names = recurrenceNames(config, layer);
  const ofHeads = (name: string, heads: number): StateParameter => ({ name, shape: [heads] });
  return [
    { name: `${path}.weight`, shape: [width, 1, convolution.kernelSize] },
    ...(convolution.hasBias ? [{ name: `${path}.bias`, shape: [width] }] : []),
    ...(kind === "delta" && delta !== null
      ? [
          ofHeads(names.decay, delta.valueHeads),
          ofHeads(names.stepBias, delta.valueHeads),
          { name: names.norm, shape: [delta.valueSize] },
        ]
      : []),
    ...(kind === "mamba" && mamba !== null
      ? [
          ofHeads(names.decay, mamba.heads),
          ofHeads(names.stepBias, mamba.heads),
          ofHeads(names.skip, mamba.heads),
          { name: names.norm, shape: [mamba.heads * mamba.headSize] },
        ]
      : []),
  ];
}
