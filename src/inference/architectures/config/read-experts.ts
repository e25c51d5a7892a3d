// Reads the mixture of experts of a model, and which layers have experts.
import type { ExpertsConfig, LayerConfig } from "../config.ts";
import type { ConfigReader, JsonObject } from "./config-reader.ts";

/**
 * Values that a class uses for fields that config.json omits. `isNormalized` is null for a class that always normalizes
 * and ignores the field `norm_topk_prob`.
 */
export interface ExpertDefaults {
  readonly count: number;
  readonly active: number;
  readonly width: number;
  readonly isNormalized: boolean | null;
}

/** Returns the experts; null if the model has none. */
export function readExperts(
  reader: ConfigReader,
  { count: usualCount, active, width, isNormalized }: ExpertDefaults,
): ExpertsConfig | null {
  // Newer files of some classes name the field `num_local_experts`.
  const field = reader.get("num_experts") === undefined ? "num_local_experts" : "num_experts";
  if (reader.get(field) === 0) return null;
  const count = reader.count(field, usualCount, expertCountMax);
  const activeCount = reader.count("num_experts_per_tok", active);
  if (activeCount > count)
    reader.refuse("num_experts_per_tok", `a token cannot have more than the model's ${count} experts`);
  return {
    count,
    activeCount,
    intermediateSize: reader.count("moe_intermediate_size", width),
    isNormalized: isNormalized === null || reader.flag("norm_topk_prob", isNormalized),
    hasBias: false,
    clamp: null,
  };
}

const expertCountMax = 4096;

/** Default of `rope_parameters` of gpt-oss. */
export const gptOssRotary: JsonObject = {
  rope_type: "yarn",
  rope_theta: 150_000,
  factor: 32,
  beta_fast: 32,
  beta_slow: 1,
  truncate: false,
  original_max_position_embeddings: 4096,
};

/** Reads the experts of gpt-oss. */
export function gptOssExperts(reader: ConfigReader): ExpertsConfig {
  return {
    count: reader.count("num_local_experts", 128, expertCountMax),
    activeCount: reader.count("num_experts_per_tok", 4),
    intermediateSize: reader.count("intermediate_size", 2880),
    isNormalized: true,
    hasBias: true,
    clamp: { limit: reader.number("swiglu_limit", 7), factor: reader.number("swiglu_alpha", 1.702) },
  };
}

/** True if config.json says that the experts' weights are in four bits (MXFP4), as in the published gpt-oss. */
export function hasBlocks({ quantization_config: quantization }: JsonObject): boolean {
  return (
    typeof quantization === "object" &&
    quantization !== null &&
    (quantization as JsonObject)["quant_method"] === "mxfp4"
  );
}

/** Returns a rule with which every `decoder_sparse_step`-th layer has experts, except those in `mlp_only_layers`. */
export function sparseLayers(reader: ConfigReader): (layer: number) => LayerConfig["experts"] {
  const step = reader.count("decoder_sparse_step", 1);
  const dense = reader.get("mlp_only_layers") ?? [];
  if (!Array.isArray(dense) || !dense.every((layer) => Number.isSafeInteger(layer)))
    reader.refuse("mlp_only_layers", "a list of layer numbers is needed");
  return (layer) =>
    (layer + 1) % step === 0 && !(Array.isArray(dense) && dense.includes(layer)) ? "routed" : undefined;
}
