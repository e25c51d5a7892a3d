// Names and shapes of a decoder's parameters: its weights and LoRA matrices, in one fixed order. The names are those
// of the Hugging Face and PEFT layouts; graphs use the same names.
import { unreachable } from "../../base/domain/assert.ts";
import { projectionNames, type ProjectionName } from "../../base/domain/model.ts";
import { byteLengthOf } from "../../lib/graph/weight-source.ts";
import type { ModelConfig } from "./config.ts";

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

/** Parameter name of the embedding. */
export const embeddingName = `${embeddingPath}.weight`;

/** Returns the projection from the last norm to the logits; if tied, its weight is the embedding. */
export function outputProjection({ isTied, width, vocabularySize }: ModelConfig): Projection {
  const path = isTied ? embeddingPath : "lm_head";
  return { path, inputSize: width, outputSize: vocabularySize, hasBias: false };
}

/** Returns one projection of one layer. */
export function projection(config: ModelConfig, layer: number, name: ProjectionName): Projection {
  const { width, intermediateSize, headCount, kvHeadCount, headSize } = config;
  const { hasQueryKeyValueBias, hasOutputBias } = config;
  const attention = `model.layers.${layer}.self_attn.${name}`;
  const feedForward = `model.layers.${layer}.mlp.${name}`;
  const queries = headCount * headSize;
  const keys = kvHeadCount * headSize;
  switch (name) {
    case "q_proj":
      return { path: attention, inputSize: width, outputSize: queries, hasBias: hasQueryKeyValueBias };
    case "k_proj":
    case "v_proj":
      return { path: attention, inputSize: width, outputSize: keys, hasBias: hasQueryKeyValueBias };
    case "o_proj":
      return { path: attention, inputSize: queries, outputSize: width, hasBias: hasOutputBias };
    case "gate_proj":
    case "up_proj":
      return { path: feedForward, inputSize: width, outputSize: intermediateSize, hasBias: false };
    case "down_proj":
      return { path: feedForward, inputSize: intermediateSize, outputSize: width, hasBias: false };
    default:
      return unreachable(name);
  }
}

/**
 * Returns all weights of the model in their fixed order. Norm weights of every architecture are factors, because Hone
 * adds Gemma's offsets when it reads weights.
 */
export function modelParameters(config: ModelConfig): readonly ParameterSpec[] {
  const { vocabularySize, width } = config;
  return [
    { name: embeddingName, shape: [vocabularySize, width] },
    ...config.layers.flatMap((_, layer) => layerParameters(config, layer)),
    { name: "model.norm.weight", shape: [width] },
    ...(config.isTied ? [] : [{ name: "lm_head.weight", shape: [vocabularySize, width] }]),
  ];
}

/** True if a parameter is the weight of an RMS norm. */
export function isNormWeight(name: string): boolean {
  return name.endsWith("norm.weight");
}

/** Returns the names of one module's two LoRA matrices, A [rank, inputSize] and B [outputSize, rank]. */
export function loraNames(path: string): { readonly a: string; readonly b: string } {
  return { a: `${path}.lora_A.weight`, b: `${path}.lora_B.weight` };
}

/** Returns the adapted modules of every layer, in their fixed order: by layer, then as in {@link projectionNames}. */
export function loraProjections(
  config: ModelConfig,
  targets: readonly ProjectionName[],
): readonly Projection[] {
  return config.layers.flatMap((_, layer) =>
    projectionNames.filter((name) => targets.includes(name)).map((name) => projection(config, layer, name)),
  );
}

/** Returns the LoRA matrices in their fixed order, A before B; the rank may be a symbol. */
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
  const { width, headSize, headCount, kvHeadCount, hasInputNorms, hasOutputNorms, queryKeyNorm } = config;
  const normedHeads = (count: number): number => (queryKeyNorm === "all-heads" ? count : 1) * headSize;
  const prefix = `model.layers.${layer}`;
  const norm = (name: string, size: number): ParameterSpec => ({
    name: `${prefix}.${name}.weight`,
    shape: [size],
  });
  return [
    ...(hasInputNorms ? [norm("input_layernorm", width)] : []),
    ...(queryKeyNorm === "none"
      ? []
      : [
          norm("self_attn.q_norm", normedHeads(headCount)),
          norm("self_attn.k_norm", normedHeads(kvHeadCount)),
        ]),
    norm("post_attention_layernorm", width),
    ...(hasInputNorms && hasOutputNorms ? [norm("pre_feedforward_layernorm", width)] : []),
    ...(hasOutputNorms ? [norm("post_feedforward_layernorm", width)] : []),
    ...projectionNames.flatMap((name) => {
      const { path, inputSize, outputSize, hasBias } = projection(config, layer, name);
      return [
        { name: `${path}.weight`, shape: [outputSize, inputSize] },
        ...(hasBias ? [{ name: `${path}.bias`, shape: [outputSize] }] : []),
      ];
    }),
  ];
}

/** Returns the size of parameters in float32, in bytes. */
export function float32Bytes(parameters: readonly Pick<ParameterSpec, "shape">[]): number {
  return parameters.reduce((bytes, { shape }) => bytes + byteLengthOf({ dtype: "float32", shape }), 0);
}
