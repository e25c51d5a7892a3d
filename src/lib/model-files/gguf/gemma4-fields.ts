// Converts the metadata of Gemma 4's GGUF files to fields of config.json. The layers of this model differ in their
// heads and in the width of the feed-forward part.
import { readFloats } from "../stored-tensor.ts";
import type { GgufFile } from "./gguf-file.ts";
import type { GgufMetadata } from "./metadata.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Keys that only this architecture reads, besides those of sliding windows. */
export const gemma4Keys = [
  "attention.key_length_swa",
  "attention.value_length_swa",
  "attention.shared_kv_layers",
  "embedding_length_per_layer_input",
  "rope.dimension_count_swa",
  "rope.freq_base_swa",
  "final_logit_softcapping",
] as const;

/**
 * Maps parts of the names of layer tensors in the file to the Hugging Face layout. Contains only tensors that other
 * architectures do not have.
 */
export const gemma4LayerParts: Readonly<Record<string, string>> = {
  inp_gate: "per_layer_input_gate",
  proj: "per_layer_projection",
  post_norm: "post_per_layer_input_norm",
};

/** Maps parts of the names of tensors outside the layers to the Hugging Face layout. */
export const gemma4OuterParts: Readonly<Record<string, string>> = {
  per_layer_token_embd: "model.embed_tokens_per_layer",
  per_layer_model_proj: "model.per_layer_model_projection",
  per_layer_proj_norm: "model.per_layer_projection_norm",
};

/** Name of the tensor with a factor for each rotary pair of a head, used in layers with full attention. */
const factorsName = "rope_freqs.weight";

/**
 * Returns the fields of config.json in which Gemma 4 differs from other architectures.
 *
 * @param kinds kinds of the layers, as in `layer_types`
 */
export function gemma4Fields(
  metadata: GgufMetadata,
  prefix: string,
  tensors: GgufFile["tensors"],
  kinds: readonly string[],
): Fields {
  const number = (name: string): number | null => metadata.number(`${prefix}.${name}`);
  const needed = (name: string): number => metadata.needed(`${prefix}.${name}`, number(name));
  const headSizes = {
    full_attention: needed("attention.key_length"),
    sliding_attention: needed("attention.key_length_swa"),
  };
  for (const name of ["attention.value_length_swa", "rope.dimension_count_swa"])
    if (![null, headSizes.sliding_attention].includes(number(name)))
      throw metadata.refused(`${prefix}.${name}`, "heads of one size in every sliding layer are computed");
  const kvHeads = perLayer(metadata, `${prefix}.attention.head_count_kv`, kinds.length);
  const sharedCount = number("attention.shared_kv_layers") ?? 0;
  const own = kinds.flatMap((kind, layer) =>
    kind === "full_attention" && layer < kinds.length - sharedCount ? [layer] : [],
  );
  const table = tensors.get("per_layer_token_embd.weight");
  return {
    hidden_activation: "gelu_pytorch_tanh",
    head_dim: headSizes.sliding_attention,
    per_layer_config: Object.fromEntries(
      kinds.map((kind, layer) => [
        layer,
        {
          head_dim: kind === "full_attention" ? headSizes.full_attention : headSizes.sliding_attention,
          num_key_value_heads: kvHeads[layer],
        },
      ]),
    ),
    attention_k_eq_v: own.length > 0 && own.every((layer) => !tensors.has(`blk.${layer}.attn_v.weight`)),
    num_kv_shared_layers: sharedCount,
    ...feedForwardFields(metadata, prefix, { count: kinds.length, sharedCount }),
    hidden_size_per_layer_input: number("embedding_length_per_layer_input") ?? 0,
    ...(table !== undefined && { vocab_size_per_layer_input: table.shape[0] }),
    final_logit_softcapping: number("final_logit_softcapping") || null,
    rope_parameters: rotaryFields(metadata, prefix, { tensors, headSize: headSizes.full_attention }),
  };
}

/** Returns one value per layer. The file stores a list, or one number for all layers. */
function perLayer(metadata: GgufMetadata, key: string, count: number): readonly number[] {
  if (!Array.isArray(metadata.value(key)))
    return Array<number>(count).fill(metadata.needed(key, metadata.number(key)));
  const values = metadata.numbers(key) ?? [];
  if (values.length === count) return values;
  throw metadata.refused(key, `${count} entries are needed, one for each layer`);
}

function feedForwardFields(
  metadata: GgufMetadata,
  prefix: string,
  { count, sharedCount }: { readonly count: number; readonly sharedCount: number },
): Fields {
  const key = `${prefix}.feed_forward_length`;
  const sizes = perLayer(metadata, key, count);
  const isWide = sharedCount > 0 && sizes[count - 1] === 2 * sizes[0];
  const isExpected = (size: number, layer: number): boolean =>
    size === (isWide && layer >= count - sharedCount ? 2 : 1) * sizes[0];
  if (!sizes.every(isExpected))
    throw metadata.refused(key, "one width, or twice that in the layers without own keys, is computed");
  return { intermediate_size: sizes[0], use_double_wide_mlp: isWide };
}

/** Returns the fields of the rotary embeddings. In the file, a factor of 1e30 marks a pair that is not rotated. */
function rotaryFields(
  metadata: GgufMetadata,
  prefix: string,
  { tensors, headSize }: { readonly tensors: GgufFile["tensors"]; readonly headSize: number },
): Fields {
  const number = (name: string): number => metadata.number(`${prefix}.${name}`) ?? 0;
  for (const name of ["rope.scaling.factor", "rope.scale_linear", "rope.scaling.attn_factor"])
    if (![0, 1].includes(number(name)))
      throw metadata.refused(`${prefix}.${name}`, "no scaling is computed for this architecture");
  const factors = [...readFloats(metadata.needed(factorsName, tensors.get(factorsName) ?? null))];
  const rotated = factors.filter((factor) => factor === 1).length;
  if (
    factors.length !== headSize / 2 ||
    !factors.every((factor, pair) => (pair < rotated ? factor === 1 : factor > 1e29))
  )
    throw metadata.error(`its tensor ${factorsName} has other factors than 1, then 1e30`);
  return {
    full_attention: {
      rope_type: "proportional",
      rope_theta: number("rope.freq_base") || 1_000_000,
      partial_rotary_factor: (2 * rotated) / headSize,
    },
    sliding_attention: { rope_type: "default", rope_theta: number("rope.freq_base_swa") || 10_000 },
  };
}
