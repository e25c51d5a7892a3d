// Reads the settings that differ between the layers of Gemma 4: sizes of heads, shared keys and values, and the width
// of the feed-forward part. `read-layers` reads the kinds of layers and the rotary embeddings.
import type { AttentionLayer, LayerEmbedding } from "../config.ts";
import type { ConfigReader, JsonObject } from "./config-reader.ts";
import { gemma4Heads } from "./gemma4-heads.ts";

/** Settings of an attention layer that may differ from the model's settings. */
export type LayerDetails = Pick<
  AttentionLayer,
  "heads" | "keysFrom" | "hasSharedValues" | "intermediateSize" | "hasLayerEmbedding"
>;

/** Default of `rope_parameters`. */
export const gemma4Rotary: JsonObject = {
  full_attention: { rope_type: "proportional", rope_theta: 1_000_000, partial_rotary_factor: 0.25 },
  sliding_attention: { rope_type: "default", rope_theta: 10_000 },
};

/** Reads the {@link LayerDetails} of every layer; adds faults to `reader`. */
export function gemma4Layers(reader: ConfigReader, kinds: readonly string[]): readonly LayerDetails[] {
  if (reader.flag("enable_moe_block", false))
    reader.refuse("enable_moe_block", "a mixture of experts is not computed; use a dense model");
  const sharedCount = reader.get("num_kv_shared_layers") ? reader.count("num_kv_shared_layers") : 0;
  const firstShared = kinds.length - sharedCount;
  const sourceOf = (layer: number): number =>
    kinds.slice(0, Math.max(firstShared, 0)).lastIndexOf(kinds[layer]);
  if (kinds.some((_, layer) => layer >= firstShared && sourceOf(layer) < 0))
    reader.refuse("num_kv_shared_layers", "each kind of layer needs one with its own keys and values");
  if (kinds.at(-1) === "sliding_attention")
    reader.refuse("layer_types", "the last layer needs full attention");
  const isWide = reader.flag("use_double_wide_mlp", false);
  const hasSharedValues = reader.flag("attention_k_eq_v", false);
  const hasLayerEmbedding = hasEmbedding(reader);
  const heads = gemma4Heads(reader, kinds);
  return kinds.map((kind, layer) => ({
    heads: heads[layer],
    ...(layer >= firstShared && { keysFrom: sourceOf(layer) }),
    ...(layer >= firstShared && isWide && { intermediateSize: 2 * reader.count("intermediate_size") }),
    ...(hasSharedValues && kind === "full_attention" && { hasSharedValues }),
    ...(hasLayerEmbedding && { hasLayerEmbedding }),
  }));
}

/** Reads the sizes of the additional embedding, which has a part for each layer; null if the model has none. */
export function gemma4Embedding(reader: ConfigReader): LayerEmbedding | null {
  if (!hasEmbedding(reader)) return null;
  const rowCount = reader.count("vocab_size_per_layer_input", 262_144);
  if (rowCount < reader.count("vocab_size", 262_144))
    reader.refuse("vocab_size_per_layer_input", "a row for each token is needed");
  return { size: reader.count("hidden_size_per_layer_input", 256), rowCount };
}

function hasEmbedding(reader: ConfigReader): boolean {
  const size = reader.get("hidden_size_per_layer_input");
  return size !== 0 && size !== null;
}
