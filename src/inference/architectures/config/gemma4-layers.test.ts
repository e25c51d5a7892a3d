// Tests that configurations of Gemma 4 are read as published, and that unsupported ones are refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { positionBytes } from "../../engine/cache/slab.ts";
import { projectionsOf } from "../parameters.ts";
import { cacheOf, cacheShapes } from "../serving/sequence-memory.ts";
import { parseModelConfig } from "./read-config.ts";

const pattern = (period: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, layer) =>
    (layer + 1) % period === 0 ? "full_attention" : "sliding_attention",
  );

/** Configuration like that of Gemma 4 E2B. */
const text = {
  model_type: "gemma4_text",
  vocab_size: 262_144,
  vocab_size_per_layer_input: 262_144,
  hidden_size: 1536,
  hidden_size_per_layer_input: 256,
  intermediate_size: 6144,
  num_hidden_layers: 35,
  num_attention_heads: 8,
  num_key_value_heads: 1,
  num_kv_shared_layers: 20,
  use_double_wide_mlp: true,
  head_dim: 256,
  global_head_dim: 512,
  num_global_key_value_heads: null,
  attention_k_eq_v: false,
  enable_moe_block: false,
  final_logit_softcapping: 30,
  sliding_window: 512,
  layer_types: pattern(5, 35),
};

const read = (changes: object) =>
  parseModelConfig(
    {
      architectures: ["Gemma4ForConditionalGeneration"],
      model_type: "gemma4",
      tie_word_embeddings: true,
      text_config: { ...text, ...changes },
      vision_config: {},
      audio_config: {},
    },
    {},
    "here",
  );

test("layers of E2B that share keys and values take no cache", () => {
  const config = read({});
  assert.equal(cacheShapes(config).length, 15);
  assert.equal(positionBytes({ caches: cacheShapes(config) }), 4 * 2 * (12 * 256 + 3 * 512));
  assert.deepEqual(
    [13, 14, 15, 19, 34].map((layer) => cacheOf(config, layer)),
    [13, 14, 13, 14, 14],
  );
  const widths = config.layers.map((layer) => layer.kind === "attention" && layer.intermediateSize);
  assert.deepEqual([widths[14], widths[15], config.intermediateSize], [undefined, 12_288, 6144]);
  assert.ok(!projectionsOf(config.layers[15]).includes("k_proj"));
  assert.deepEqual(
    config.rotaries.map(({ theta, size }) => [theta, size]),
    [
      [10_000, 256],
      [1_000_000, 128],
    ],
  );
  assert.deepEqual([config.attentionScale, config.logitCap], [1, 30]);
});

test("full layers of 31B have fewer heads, and their keys are also their values", () => {
  const config = read({
    hidden_size_per_layer_input: 0,
    num_attention_heads: 32,
    num_key_value_heads: 16,
    num_global_key_value_heads: 4,
    num_kv_shared_layers: 0,
    attention_k_eq_v: true,
    num_hidden_layers: 60,
    layer_types: pattern(6, 60),
    use_bidirectional_attention: "vision",
  });
  assert.deepEqual(cacheShapes(config)[5], { kvHeadCount: 4, headSize: 512 });
  assert.deepEqual(cacheShapes(config)[6], { kvHeadCount: 16, headSize: 256 });
  assert.ok(projectionsOf(config.layers[6]).includes("v_proj"));
  assert.ok(!projectionsOf(config.layers[5]).includes("v_proj"));
  assert.equal(config.layerEmbedding, null);
});

for (const [field, value] of [
  ["enable_moe_block", true],
  ["use_bidirectional_attention", "all"],
  ["num_kv_shared_layers", 35],
  ["num_kv_shared_layers", 31],
  ["layer_types", Array(35).fill("sliding_attention")],
  ["vocab_size_per_layer_input", 1000],
  ["per_layer_config", { 4: { head_dim: 512 }, 9: { head_dim: 256 } }],
  ["per_layer_config", { 4: { sliding_window: 3 } }],
  ["num_key_value_heads", 3],
  ["rope_parameters", { full_attention: { rope_type: "proportional", partial_rotary_factor: 0.001 } }],
  ["rope_parameters", { full_attention: { rope_type: "proportional", partial_rotary_factor: 1.5 } }],
] as const)
  test(`refuses ${field} ${JSON.stringify(value).slice(0, 40)}`, () => {
    assert.throws(() => read({ [field]: value }), { code: "unsupported" });
  });
