// Reads config.json and generation_config.json of a Hugging Face folder into a ModelConfig. If the decoder does not
// support some options, one error names all of them with their values. Ignoring an option would compute a different
// model.
import { basename } from "node:path";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { architectures, type Architecture, type LayerConfig, type ModelConfig } from "../config.ts";
import { ggufNamesOf } from "../../../lib/model-files/gguf/gguf-model.ts";
import { readConfigFiles, readEndOfTextIds } from "./served-config.ts";
import { hasBlocks } from "./read-experts.ts";
import { ConfigReader, type JsonObject } from "./config-reader.ts";
import { activations, families, type FamilyRule } from "./families.ts";
import { readLayers, readRotarySize, refusePartialRotary } from "./read-layers.ts";

/**
 * Reads the configuration of the model in `folder`.
 *
 * @throws ServiceError `not_found` without a config.json, `invalid` if a file is not valid JSON, `unsupported` with
 * every unsupported field, its value and the cure
 */
export function readModelConfig(folder: string): ModelConfig {
  const { config, generation } = readConfigFiles(folder);
  const names = ggufNamesOf(folder);
  if (names === null) {
    try {
      return parseModelConfig(config, generation, folder);
    } catch (error) {
      throw withVllmCommand(error, folder);
    }
  }
  const consequence = `The model ${names.file} cannot be served: it has unsupported options.`;
  return parse({
    reader: new ConfigReader(config, names.file, { nameOf: names.key }),
    consequence,
    generation,
    isTextPart: false,
  });
}

/** Adds the commands with which vLLM computes the model to an error for unsupported options. */
function withVllmCommand(error: unknown, folder: string): unknown {
  if (!(error instanceof ServiceError) || error.code !== "unsupported") return error;
  const { code, message, faults } = error;
  // vLLM's default port is also Hone's.
  const commands = `\`vllm serve ${folder} --port 8001\`, then \`hone serve --model '${basename(folder)}=vllm+http://127.0.0.1:8001?files=${folder}'\``;
  return new ServiceError({
    code,
    faults,
    message: `${message} Hone can also let vLLM compute models that it does not compute itself: ${commands} (docs/guides/vllm.md).`,
  });
}

/**
 * Like {@link readModelConfig}, but takes the parsed contents of config.json and generation_config.json. Error messages
 * begin with `origin`.
 */
export function parseModelConfig(whole: JsonObject, generation: JsonObject, origin: string): ModelConfig {
  const config = textPartOf(whole);
  const consequence = `The model in ${origin} cannot be served: its config.json has unsupported options.`;
  const reader = new ConfigReader(config, "config.json");
  if (
    config !== whole &&
    config["model_type"] === "gemma3_text" &&
    (config["final_logit_softcapping"] ?? null) !== null
  ) {
    const cure = "Transformers bounds the logits of Gemma3ForCausalLM only; use a model of that class";
    reader.refuse("final_logit_softcapping", cure);
  }
  return parse({ reader, consequence, generation, isTextPart: config !== whole });
}

function parse({
  reader,
  consequence,
  generation,
  isTextPart,
}: {
  readonly reader: ConfigReader;
  readonly consequence: string;
  readonly generation: JsonObject;
  readonly isTextPart: boolean;
}): ModelConfig {
  const architecture = readArchitecture(reader);
  if (architecture === null) throw reader.error(consequence);
  const family = families[architecture];
  refuseUnsupportedOptions(reader, family);

  const width = reader.count("hidden_size");
  const { usualSizes } = family;
  const headCount = reader.count("num_attention_heads", usualSizes?.heads);
  const headSize = reader.count("head_dim", family.headSize ?? Math.floor(width / headCount));
  const kvHeadCount = reader.count("num_key_value_heads", family.kvHeadCount ?? headCount);
  if (headCount % kvHeadCount !== 0) {
    reader.refuse("num_key_value_heads", `${headCount} query heads cannot be divided evenly`);
  }
  if (headSize % 2 !== 0) reader.refuse("head_dim", "the rotary embedding needs an even head size");
  const rotarySize = readRotarySize(reader, family, headSize);
  const { attentionScalar } = family;
  const scoreSize =
    attentionScalar === null
      ? headSize
      : attentionScalar === 1
        ? 1
        : reader.number(attentionScalar.field, attentionScalar.fallback);
  // In families with multipliers, the default of every factor is one. That includes the factor of attention scores,
  // whose default in other families is 1 / √(head size).
  const multiplier = (field: string, usual: number): number =>
    family.readsMultipliers ? reader.number(field, 1) : usual;
  const experts = family.experts?.(reader) ?? null;
  const hasBias = family.readsAttentionBias && reader.flag("attention_bias", family.usualAttentionBias);
  const { layers, rotaries } = readLayers(reader, family, { rotarySize, experts });
  const has = (...kinds: readonly LayerConfig["kind"][]): boolean =>
    layers.some(({ kind }) => kinds.includes(kind));
  const result: ModelConfig = {
    architecture,
    isTextPart,
    vocabularySize: reader.count("vocab_size", usualSizes?.vocabulary),
    width,
    intermediateSize: family.intermediateSize(reader),
    headCount,
    kvHeadCount,
    headSize,
    rotarySize,
    contextLength: reader.count("max_position_embeddings", usualSizes?.contextLength),
    layers,
    rotaries,
    normEpsilon: reader.number(family.normEpsilonField, family.normEpsilon),
    isNormOffset: family.isNormOffset,
    hasInputNorms: family.hasInputNorms,
    hasOutputNorms: family.hasOutputNorms,
    queryKeyNorm: family.queryKeyNorm,
    hasValueNorm: family.hasValueNorm,
    hasQueryKeyValueBias: family.hasQueryKeyValueBias || hasBias,
    // GGUF files may have biases for queries, keys and values, but none for the attention's output.
    hasOutputBias: hasBias && reader.flag("attention_out_bias", true),
    hasFeedForwardBias: family.readsFeedForwardBias && reader.flag("mlp_bias", false),
    convolution: has("convolution", "delta", "mamba") ? (family.convolution?.(reader) ?? null) : null,
    delta: has("delta") ? (family.delta?.(reader) ?? null) : null,
    mamba: has("mamba") ? (family.mamba?.(reader) ?? null) : null,
    experts,
    hasSinks: family.hasSinks,
    hasAttentionGate: family.hasAttentionGate,
    layerEmbedding: family.layerEmbedding?.(reader) ?? null,
    hasLayerScales: family.hasLayerScales,
    hasFeedForwardGate: family.hasFeedForwardGate,
    activation: readActivation(reader, family),
    isTied: readIsTied(reader, family),
    embeddingScale: family.scalesEmbeddings
      ? Math.fround(Math.sqrt(width))
      : multiplier("embedding_multiplier", 1),
    attentionScale: multiplier("attention_multiplier", 1 / Math.sqrt(scoreSize)),
    residualScale: multiplier("residual_multiplier", 1),
    logitScale: 1 / multiplier("logits_scaling", 1),
    logitCap: readLogitCap(reader, family),
    endOfTextIds: readEndOfTextIds(reader.fields, generation),
  };
  if (reader.hasFaults) throw reader.error(consequence);
  return result;
}

function readArchitecture(reader: ConfigReader): Architecture | null {
  const names = reader.get("architectures");
  const modelType = reader.get("model_type");
  const found = architectures.find((name) =>
    Array.isArray(names) ? names[0] === name : families[name].modelType === modelType,
  );
  if (found !== undefined) return found;
  const field = Array.isArray(names) ? "architectures" : "model_type";
  reader.refuse(
    field,
    `this server computes ${[...architectures, ...multimodalClasses].join(", ")}; use a model of one of these`,
  );
  return null;
}

/** Fields with the number of experts in a layer. */
const expertFields = ["num_experts", "num_local_experts", "n_routed_experts"];

function refuseUnsupportedOptions(reader: ConfigReader, family: FamilyRule): void {
  const unless = (field: string, harmless: readonly unknown[], cure: string): void => {
    if (![undefined, null, ...harmless].includes(reader.get(field))) reader.refuse(field, cure);
  };
  unless(
    "attn_logit_softcapping",
    [],
    "soft capping of attention scores is not computed; use a model without",
  );
  if (!family.readsLogitCap)
    unless("final_logit_softcapping", [], "soft capping of logits is not computed here; use a model without");
  if (!(family.readsBlocks && hasBlocks(reader.fields)))
    unless(
      "quantization_config",
      [],
      "quantized weights are not read; use the original in float32, float16 or bfloat16",
    );
  unless(
    "compression_config",
    [],
    "compressed weights are not read; use the original in float32, float16 or bfloat16",
  );
  if (!family.readsFeedForwardBias)
    unless("mlp_bias", [false], "this class has no such biases; remove the field");
  // "vision" is harmless: it lets only the tokens of images attend to later tokens, and Hone computes only text.
  unless(
    "use_bidirectional_attention",
    [false, "vision"],
    "only causal attention is computed; use a causal model",
  );
  unless("is_causal", [true], "only causal attention is computed; use a causal model");
  unless("add_cross_attention", [false], "cross-attention is not computed; use a decoder-only model");
  unless("attention_chunk_size", [], "chunked attention is not computed; use a model without");
  const isDense = family.experts === null && family.readsExpertCounts;
  for (const field of isDense ? expertFields : []) {
    unless(field, [0], "a mixture of experts is not computed; use a dense model");
  }
  if (family.partialRotary === null) refusePartialRotary(reader);
  if (!family.readsAttentionBias) {
    // Qwen2's class always has biases for queries, keys and values, so `true` changes nothing.
    unless(
      "attention_bias",
      [family.hasQueryKeyValueBias, false],
      "this class has no such biases; remove the field",
    );
  }
}

/**
 * Reads whether the output projection uses the embedding's weight. The first published files of LFM2 use another name
 * for the field.
 */
function readIsTied(reader: ConfigReader, { isTied, modelType }: FamilyRule): boolean {
  // Transformers never ties Nemotron-H, even if `tie_word_embeddings` is true. Only configurations that Hone derives
  // from GGUF files tie it, with the field `tie_embedding`.
  if (modelType === "nemotron_h") return reader.flag("tie_embedding", false);
  return reader.flag(
    reader.get("tie_embedding") === undefined ? "tie_word_embeddings" : "tie_embedding",
    isTied,
  );
}

function readLogitCap(reader: ConfigReader, { readsLogitCap }: FamilyRule): number | null {
  if (!readsLogitCap || (reader.get("final_logit_softcapping") ?? null) === null) return null;
  return reader.number("final_logit_softcapping");
}

function readActivation(
  reader: ConfigReader,
  { activation: { field: own, fallback } }: FamilyRule,
): ModelConfig["activation"] {
  // A family may have its own field for the activation. If an older file has both that field and `hidden_act`, the
  // family's own field counts.
  const field = reader.get(own) === undefined ? "hidden_act" : own;
  const name = reader.get(field) ?? fallback;
  const known = Object.entries(activations).find(([key]) => key === name);
  if (known !== undefined) return known[1];
  reader.refuse(
    field,
    `${Object.keys(activations).join(" and ")} are computed; use a model with one of these`,
  );
  return "silu";
}

// Multimodal models: Hone computes only their text model, whose fields are in `text_config`.

/**
 * Class of a multimodal model's text model. The outer key is the class of the multimodal model, the inner key the
 * `model_type` of its text model.
 */
const textClasses: Readonly<Record<string, Readonly<Record<string, Architecture>>>> = {
  Qwen3_5ForConditionalGeneration: { qwen3_5_text: "Qwen3_5ForCausalLM" },
  Qwen3_5MoeForConditionalGeneration: { qwen3_5_moe_text: "Qwen3_5MoeForCausalLM" },
  Gemma3ForConditionalGeneration: { gemma3_text: "Gemma3ForCausalLM" },
  Gemma4ForConditionalGeneration: { gemma4_text: "Gemma4ForCausalLM" },
  Mistral3ForConditionalGeneration: {
    mistral: "MistralForCausalLM",
    ministral3: "Ministral3ForCausalLM",
  },
};

/** Multimodal classes whose text model Hone computes. */
const multimodalClasses: readonly string[] = Object.keys(textClasses);

/**
 * Returns the configuration of the text model inside a multimodal model. Returns `config` itself if the model is a text
 * model, or its class is unknown.
 */
function textPartOf(config: JsonObject): JsonObject {
  const { architectures, text_config: text } = config;
  const [name] = Array.isArray(architectures) ? (architectures as readonly unknown[]) : [];
  if (!isObject(text) || typeof name !== "string" || !Object.hasOwn(textClasses, name)) return config;
  const types = textClasses[name];
  const type = text["model_type"] ?? Object.keys(types)[0];
  const textClass = typeof type === "string" && Object.hasOwn(types, type) ? types[type] : undefined;
  if (textClass === undefined) return config;
  // The multimodal model's quantization and end tokens apply to its text model too. Its `tie_word_embeddings` takes
  // precedence, because the output projection belongs to the multimodal model.
  const { tie_word_embeddings: isTied } = { ...text, ...config };
  return {
    ...withoutTextConfig(config),
    ...text,
    ...(isTied !== undefined && { tie_word_embeddings: isTied }),
    model_type: type,
    architectures: [textClass],
  };
}

function withoutTextConfig(config: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(config).filter(([field]) => !/^(text|vision|audio)_config$/.test(field)),
  );
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
