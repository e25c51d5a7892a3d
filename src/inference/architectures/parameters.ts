// Names and shapes of a decoder's parameters: its weights and LoRA matrices, in one fixed order. The names are those
// of the Hugging Face and PEFT layouts; graphs use the same names.
import { unreachable } from "../../base/domain/assert.ts";
import type { ProjectionName } from "../../base/domain/model.ts";
import { byteLengthOf } from "../../lib/graph/weight-source.ts";
import { headsOf, intermediateSizeOf, type LayerConfig, type ModelConfig } from "./config.ts";
import { expertParameters } from "./experts/expert-parameters.ts";
import { moduleNames, type NormName, normPath, projectionPath } from "./module-names.ts";
import {
  convolutionWidth,
  hasProjectionBias,
  inputWidth,
  outputWidth,
  stateLayerParameters,
} from "./recurrent/state-layers.ts";

export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
}

/** A projection y = x Wᵀ; its weight is [outputSize, inputSize]. */
export interface Projection {
  /** Path of the module, such as `model.layers.0.self_attn.q_proj`. */
  readonly path: string;
  readonly inputSize: number;
  readonly outputSize: number;
  readonly hasBias: boolean;
}

const embeddingPath = "model.embed_tokens";

export const embeddingName = `${embeddingPath}.weight`;

/** Parameter name of the additional embedding, which has a part for each layer. */
export const layerEmbeddingName = "model.embed_tokens_per_layer.weight";

/** Parameter name of the norm that is applied to the results of {@link layerEmbeddingProjection}. */
export const layerEmbeddingNorm = "model.per_layer_projection_norm.weight";

/** Returns the projection from the token embedding to all layers' parts of the additional embedding. */
export function layerEmbeddingProjection({ width, layers, layerEmbedding }: ModelConfig): Projection {
  const outputSize = layers.length * (layerEmbedding?.size ?? 0);
  return { path: "model.per_layer_model_projection", inputSize: width, outputSize, hasBias: false };
}

/** Returns the projection from the last norm to the logits. If the model is tied, its weight is the embedding. */
export function outputProjection({ isTied, width, vocabularySize }: ModelConfig): Projection {
  const path = isTied ? embeddingPath : "lm_head";
  return { path, inputSize: width, outputSize: vocabularySize, hasBias: false };
}

/**
 * Projections of a layer by the layer's kind, without the projections of a feed-forward part that follows in the same
 * layer.
 */
const layerProjectionNames: Readonly<Record<LayerConfig["kind"], readonly ProjectionName[]>> = {
  attention: ["q_proj", "k_proj", "v_proj", "o_proj"],
  convolution: ["in_proj", "out_proj"],
  delta: ["in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj"],
  mamba: ["in_proj", "out_proj"],
  // Only Nemotron-H has such layers, and its feed-forward parts have no gate projection.
  "feed-forward": ["up_proj", "down_proj"],
};

/** Projections of a dense feed-forward part that follows in a layer, or of a shared expert. */
const feedForwardNames: readonly ProjectionName[] = ["gate_proj", "up_proj", "down_proj"];

/** Returns the names of a layer's projections, in the order of {@link projectionNames}. */
export function projectionsOf(layer: LayerConfig): readonly ProjectionName[] {
  const own = layerProjectionNames[layer.kind];
  const isFollowed = layer.isAlone !== true && layer.experts !== "routed";
  const names = isFollowed ? [...own, ...feedForwardNames] : own;
  if (layer.kind !== "attention") return names;
  const { keysFrom, hasSharedValues = false, hasLayerEmbedding = false } = layer;
  const isAbsent = (name: ProjectionName): boolean =>
    (name === "k_proj" && keysFrom !== undefined) ||
    (name === "v_proj" && (keysFrom !== undefined || hasSharedValues));
  return [
    ...names.filter((name) => !isAbsent(name)),
    ...(hasLayerEmbedding ? (["per_layer_input_gate", "per_layer_projection"] as const) : []),
  ];
}

/** Returns a predicate that is true for layers that have the projection. */
export function hasProjection(name: ProjectionName): (layer: LayerConfig) => boolean {
  return (layer) => projectionsOf(layer).includes(name);
}

/** Returns one projection of a layer. The layer must have it. */
export function projection(config: ModelConfig, layer: number, name: ProjectionName): Projection {
  const { width, headCount } = config;
  const { kvHeadCount, headSize } = headsOf(config, layer);
  const intermediateSize = intermediateSizeOf(config, layer);
  const layerSize = config.layerEmbedding?.size ?? 0;
  const { hasQueryKeyValueBias, hasOutputBias, hasFeedForwardBias, hasAttentionGate } = config;
  const { valueHeads = 0, valueSize = 0 } = config.delta ?? {};
  const hasBias = hasProjectionBias(config, layer);
  const sized = (inputSize: number, outputSize: number, hasBias: boolean): Projection => ({
    path: projectionPath(config.architecture, layer, name),
    inputSize,
    outputSize,
    hasBias,
  });
  switch (name) {
    case "q_proj":
      return sized(width, (hasAttentionGate ? 2 : 1) * headCount * headSize, hasQueryKeyValueBias);
    case "k_proj":
    case "v_proj":
      return sized(width, kvHeadCount * headSize, hasQueryKeyValueBias);
    case "o_proj":
      return sized(headCount * headSize, width, hasOutputBias);
    case "in_proj":
      return sized(width, inputWidth(config, layer), hasBias);
    case "in_proj_qkv":
      return sized(width, convolutionWidth(config, layer), false);
    case "in_proj_z":
      return sized(width, valueHeads * valueSize, false);
    case "in_proj_b":
    case "in_proj_a":
      return sized(width, valueHeads, false);
    case "out_proj":
      return sized(outputWidth(config, layer), width, hasBias);
    case "gate_proj":
    case "up_proj":
      return sized(width, intermediateSize, hasFeedForwardBias);
    case "down_proj":
      return sized(intermediateSize, width, hasFeedForwardBias);
    case "per_layer_input_gate":
      return sized(width, layerSize, false);
    case "per_layer_projection":
      return sized(layerSize, width, false);
    default:
      return unreachable(name);
  }
}

/** Returns the parameter name of the attention sinks of a layer's query heads. */
export function sinksName(layer: number): string {
  return `model.layers.${layer}.self_attn.sinks`;
}

/** Returns the name of the norm weight after the last layer. */
export function finalNormName({ architecture }: ModelConfig): string {
  return `${moduleNames(architecture).finalNorm}.weight`;
}

/**
 * Returns all weights of the model in their fixed order. Norm weights of every architecture are plain factors, because
 * Hone adds one to Gemma's when it reads them.
 */
export function modelParameters(config: ModelConfig): readonly ParameterSpec[] {
  const { vocabularySize, width } = config;
  return [
    { name: embeddingName, shape: [vocabularySize, width] },
    ...layerEmbeddingParameters(config),
    ...config.layers.flatMap((_, layer) => layerParameters(config, layer)),
    { name: finalNormName(config), shape: [width] },
    ...(config.isTied ? [] : [{ name: "lm_head.weight", shape: [vocabularySize, width] }]),
  ];
}

function layerEmbeddingParameters(config: ModelConfig): readonly ParameterSpec[] {
  const { layerEmbedding } = config;
  if (layerEmbedding === null) return [];
  const { path, inputSize, outputSize } = layerEmbeddingProjection(config);
  return [
    { name: layerEmbeddingName, shape: [layerEmbedding.rowCount, outputSize] },
    { name: `${path}.weight`, shape: [outputSize, inputSize] },
    { name: layerEmbeddingNorm, shape: [layerEmbedding.size] },
  ];
}

/** Returns the name of the number by which a layer's result is multiplied. */
export function layerScaleName(layer: number): string {
  return `model.layers.${layer}.layer_scalar`;
}

/** True if a parameter is the weight of an RMS norm. */
export function isNormWeight(name: string): boolean {
  return name.endsWith("norm.weight") || name.endsWith("norm_f.weight");
}

/** True if files store a parameter's values minus one. That never applies to the norms after delta rules. */
export function isStoredAsOffset(name: string, { isNormOffset }: ModelConfig): boolean {
  return isNormOffset && isNormWeight(name) && !name.endsWith("linear_attn.norm.weight");
}

/** Returns the distinct last components of module paths. */
export function lastNamesOf(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.map((path) => path.slice(path.lastIndexOf(".") + 1)))];
}

/** Returns the names of a module's two LoRA matrices, A [rank, inputSize] and B [outputSize, rank]. */
export function loraNames(path: string): { readonly a: string; readonly b: string } {
  return { a: `${path}.lora_A.weight`, b: `${path}.lora_B.weight` };
}

/**
 * Returns the adapted modules of every layer, in their fixed order: by layer, then as in {@link projectionNames}. Skips
 * targets that a layer does not have.
 */
export function loraProjections(
  config: ModelConfig,
  targets: readonly ProjectionName[],
): readonly Projection[] {
  return config.layers.flatMap((layerConfig, layer) =>
    projectionsOf(layerConfig)
      .filter((name) => targets.includes(name))
      .map((name) => projection(config, layer, name)),
  );
}

/**
 * Returns the LoRA matrices in their fixed order, A before B of each module. The rank may be the name of a variable
 * dimension.
 */
export function loraParameters<Rank extends number | string>(
  config: ModelConfig,
  { targets, rank }: { readonly targets: readonly ProjectionName[]; readonly rank: Rank },
): readonly { readonly name: string; readonly shape: readonly (number | Rank)[] }[] {
  return loraProjections(config, targets).flatMap(({ path, inputSize, outputSize }) => [
    { name: loraNames(path).a, shape: [rank, inputSize] },
    { name: loraNames(path).b, shape: [outputSize, rank] },
  ]);
}

function layerParameters(config: ModelConfig, layer: number): readonly ParameterSpec[] {
  const { width, hasInputNorms, hasOutputNorms } = config;
  const norm = normOf(config, layer);
  const layerConfig = config.layers[layer];
  return [
    ...(hasInputNorms ? [norm("input_layernorm", width)] : []),
    ...(layerConfig.kind === "attention" ? headNorms(config, layer) : stateLayerParameters(config, layer)),
    ...(layerConfig.isAlone === true ? [] : [norm("post_attention_layernorm", width)]),
    ...(hasInputNorms && hasOutputNorms ? [norm("pre_feedforward_layernorm", width)] : []),
    ...(hasOutputNorms ? [norm("post_feedforward_layernorm", width)] : []),
    ...(config.layerEmbedding === null ? [] : [norm("post_per_layer_input_norm", width)]),
    ...(config.hasLayerScales ? [{ name: layerScaleName(layer), shape: [1] }] : []),
    ...expertParameters(config, layer),
    ...(config.hasSinks ? [{ name: sinksName(layer), shape: [config.headCount] }] : []),
    ...projectionsOf(layerConfig).flatMap((name) => {
      const { path, inputSize, outputSize, hasBias } = projection(config, layer, name);
      return [
        { name: `${path}.weight`, shape: [outputSize, inputSize] },
        ...(hasBias ? [{ name: `${path}.bias`, shape: [outputSize] }] : []),
      ];
    }),
  ];
}

function normOf(
  { architecture }: ModelConfig,
  layer: number,
): (name: NormName, size: number) => ParameterSpec {
  return (name, size) => ({ name: `${normPath(architecture, layer, name)}.weight`, shape: [size] });
}

/** Returns the norm weights of queries and keys; empty if the model has none. */
function headNorms(config: ModelConfig, layer: number): readonly ParameterSpec[] {
  const { headCount, queryKeyNorm } = config;
  const { headSize, kvHeadCount } = headsOf(config, layer);
  if (queryKeyNorm === "none") return [];
  const norm = normOf(config, layer);
  const size = (count: number): number => (queryKeyNorm === "all-heads" ? count : 1) * headSize;
  const isOfKeys = projectionsOf(config.layers[layer]).includes("k_proj");
  return [
    norm("self_attn.q_norm", size(headCount)),
    ...(isOfKeys ? [norm("self_attn.k_norm", size(kvHeadCount))] : []),
  ];
}

/** Returns the total size in bytes of parameters stored as float32. */
export function float32Bytes(parameters: readonly Pick<ParameterSpec, "shape">[]): number {
  return parameters.reduce((bytes, { shape }) => bytes + byteLengthOf({ dtype: "float32", shape }), 0);
}

/** Returns the number of a model's parameters. */
export function countParameters(config: ModelConfig): number {
  return float32Bytes(modelParameters(config)) / Float32Array.BYTES_PER_ELEMENT;
}
