// Tests that config.json is read correctly in older and newer spellings, and that unsupported fields are refused by
// name.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ModelConfig } from "../config.ts";
import { parseModelConfig, readModelConfig } from "./read-config.ts";
import type { JsonObject } from "./config-reader.ts";

const models = "test/fixtures/goldens/models";

function stored(name: string): JsonObject {
  return JSON.parse(readFileSync(`${models}/${name}/config.json`, "utf8")) as JsonObject;
}

/** Parses the config.json of a fixture after replacing some fields; the value `undefined` removes a field. */
function parse(name: string, changes: JsonObject = {}, generation: JsonObject = {}): ModelConfig {
  const changed = Object.entries({ ...stored(name), ...changes }).filter(([, value]) => value !== undefined);
  return parseModelConfig(Object.fromEntries(changed), generation, "a test");
}

function checkRefusal(name: string, changes: JsonObject, ...words: readonly string[]): void {
  assert.throws(
    () => parse(name, changes),
    (error) => {
      assert.ok(error instanceof ServiceError);
      assert.equal(error.code, "unsupported");
      for (const word of words) assert.ok(error.message.includes(word), `${error.message} names ${word}`);
      return true;
    },
  );
}

function windows(config: ModelConfig): readonly (number | null)[] {
  return config.layers.map((layer) => (layer.kind === "attention" ? layer.slidingWindow : null));
}

test("reads the configuration of each architecture", () => {
  const qwen3 = readModelConfig(`${models}/qwen3`);
  assert.equal(qwen3.headSize, 32);
  assert.ok(qwen3.queryKeyNorm === "each-head" && !qwen3.isTied && !qwen3.hasQueryKeyValueBias);
  const qwen2 = readModelConfig(`${models}/qwen2`);
  assert.equal(qwen2.headSize, 16);
  assert.ok(qwen2.hasQueryKeyValueBias && !qwen2.hasOutputBias && qwen2.isTied);
  const gemma = readModelConfig(`${models}/gemma3`);
  assert.deepEqual(windows(gemma), [8, null, 8]);
  assert.equal(gemma.embeddingScale, 8);
  assert.ok(gemma.isNormOffset && gemma.hasOutputNorms && gemma.activation === "gelu-tanh");
  assert.deepEqual(windows(readModelConfig(`${models}/mistral-sliding`)), [8, 8, 8]);
  assert.deepEqual(readModelConfig(`${models}/llama3-rope`).rotaries[0]?.scaling, {
    kind: "llama3",
    factor: 8,
    lowFrequencyFactor: 1,
    highFrequencyFactor: 4,
    originalContextLength: 32,
  });
});

test("reads Granite's factors: scores are multiplied by one by default", () => {
  const granite = readModelConfig(`${models}/granite`);
  assert.deepEqual(
    [granite.embeddingScale, granite.attentionScale, granite.residualScale, granite.logitScale],
    [3, 0.125, 0.6, 2],
  );
  assert.equal(parse("granite", { attention_multiplier: undefined }).attentionScale, 1);
  assert.equal(parse("llama", { residual_multiplier: 2 }).residualScale, 1, "a field of another family");
});

test("names the commands with which vLLM computes a model that is not computed here", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-config-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const name = basename(folder);
  const commands = `\`vllm serve ${folder} --port 8001\`, then \`hone serve --model '${name}=vllm+http://127.0.0.1:8001?files=${folder}'\``;
  for (const changes of [{ architectures: ["MixtralForCausalLM"] }, { attention_chunk_size: 8 }]) {
    writeFileSync(join(folder, "config.json"), JSON.stringify({ ...stored("llama"), ...changes }));
    assert.throws(
      () => readModelConfig(folder),
      (error) => error instanceof ServiceError && error.message.includes(commands),
    );
  }
});

test("reads biases where the class has them, and refuses them elsewhere", () => {
  for (const name of ["llama", "granite", "smollm3", "nemotron-h"]) {
    assert.equal(parse(name).hasFeedForwardBias, false, name);
    assert.equal(parse(name, { mlp_bias: true }).hasFeedForwardBias, true, name);
  }
  checkRefusal("qwen3", { mlp_bias: true }, "mlp_bias is true: this class has no such biases");
  const { hasQueryKeyValueBias, hasOutputBias } = parse("qwen3.5", { attention_bias: true });
  assert.deepEqual([hasQueryKeyValueBias, hasOutputBias], [true, true]);
  checkRefusal(
    "nemotron-h",
    { attention_bias: true },
    "attention_bias is true: this class has no such biases",
  );
});

test("reads the layers of SmolLM3 without rotation, by list or interval, and their sliding windows if any", () => {
  const rotates = (config: ModelConfig): readonly boolean[] =>
    config.layers.map((layer) => layer.kind === "attention" && layer.rotary !== null);
  const written = { no_rope_layers: undefined, layer_types: undefined };
  assert.deepEqual(rotates(parse("smollm3")), [true, true, true, false]);
  assert.deepEqual(rotates(parse("smollm3", written)), [true, true, true, false]);
  assert.deepEqual(rotates(parse("smollm3", { ...written, no_rope_layer_interval: 2 })), [
    true,
    false,
    true,
    false,
  ]);
  assert.deepEqual(rotates(parse("smollm3", { no_rope_layers: [0, 1, 1, 0] })), [false, true, true, false]);
  const sliding = parse("smollm3", { ...written, use_sliding_window: true, sliding_window: 8 });
  assert.deepEqual(windows(sliding), [null, null, null, 8]);
  checkRefusal("smollm3", { no_rope_layers: "none" }, 'no_rope_layers is "none"');
});

test("refuses a config.json that is not a JSON object", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-config-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const text of ["null", "1", '"x"', "[]"]) {
    writeFileSync(join(folder, "config.json"), text);
    const expected = { code: "invalid", message: /config\.json is not a JSON object; copy it again/ };
    assert.throws(() => readModelConfig(folder), expected, text);
  }
});

test("reads the older spelling of rotary settings", () => {
  const older = { rope_parameters: undefined, rope_theta: 5e5 };
  const llama3 = { ...(stored("llama3-rope")["rope_parameters"] as JsonObject), rope_theta: undefined };
  assert.deepEqual(
    parse("llama3-rope", { ...older, rope_scaling: llama3 }).rotaries,
    parse("llama3-rope").rotaries,
  );
  assert.deepEqual(parse("llama", { ...older, rope_scaling: { type: "linear", factor: 4 } }).rotaries, [
    { theta: 5e5, scaling: { kind: "linear", factor: 4 } },
  ]);
  assert.deepEqual(parse("llama", { rope_parameters: undefined }).rotaries, parse("llama").rotaries);
});

test("reads Gemma's older spelling: a pattern, and a local base that is never scaled", () => {
  const config = parse("gemma3", {
    rope_parameters: undefined,
    layer_types: undefined,
    sliding_window_pattern: 3,
    rope_theta: 1e6,
    rope_local_base_freq: 2e4,
    rope_scaling: { rope_type: "linear", factor: 8 },
  });
  assert.deepEqual(windows(config), [8, 8, null]);
  assert.deepEqual(config.rotaries, [
    { theta: 2e4, scaling: { kind: "none" } },
    { theta: 1e6, scaling: { kind: "linear", factor: 8 } },
  ]);
  assert.deepEqual(
    config.layers.map((layer) => (layer.kind === "attention" ? layer.rotary : null)),
    [0, 0, 1],
  );
});

test("reads Qwen's sliding windows in both spellings", () => {
  const sliding = { use_sliding_window: true, sliding_window: 4 };
  // In this model class, all layers have a sliding window, and `max_window_layers` has no effect.
  assert.deepEqual(windows(parse("qwen3-moe", { ...sliding, max_window_layers: 2 })), [4, 4, 4]);
  assert.deepEqual(windows(parse("qwen3-moe", { ...sliding, use_sliding_window: false })), [
    null,
    null,
    null,
  ]);
  assert.deepEqual(windows(parse("qwen2", { ...sliding, layer_types: undefined, max_window_layers: 2 })), [
    null,
    null,
    4,
  ]);
  const layerTypes = ["sliding_attention", "full_attention", "sliding_attention"];
  assert.deepEqual(windows(parse("qwen3", { ...sliding, layer_types: layerTypes })), [4, null, 4]);
  assert.deepEqual(windows(parse("qwen2", { sliding_window: 4 })), [null, null, null]);
});

test("reads a Mistral with a null window as unlimited, and an absent one as its class's default", () => {
  assert.deepEqual(windows(parse("mistral-sliding", { sliding_window: null })), [null, null, null]);
  assert.deepEqual(windows(parse("mistral-sliding", { sliding_window: undefined })), [4096, 4096, 4096]);
});

test("takes the end-of-text ids from config.json if generation_config.json names none", () => {
  const generation = { eos_token_id: [7, 2], temperature: 0.6 };
  assert.deepEqual(parse("llama", { eos_token_id: 5 }, generation).endOfTextIds, [7, 2]);
  assert.deepEqual(parse("llama", { eos_token_id: 5 }, { temperature: 0.6 }).endOfTextIds, [5]);
  assert.deepEqual(parse("llama", { eos_token_id: null }).endOfTextIds, []);
});

test("follows attention_bias", () => {
  const config = parse("llama", { attention_bias: true });
  assert.ok(config.hasQueryKeyValueBias && config.hasOutputBias);
});

test("accepts options that change nothing when serving", () => {
  assert.deepEqual(
    parse("llama", { attention_dropout: 0.1, pretraining_tp: 2, mlp_bias: null }),
    parse("llama"),
  );
});

test("refuses soft capping of attention scores", () =>
  checkRefusal("gemma3", { attn_logit_softcapping: 50 }, "attn_logit_softcapping is 50"));
test("refuses soft capping of logits in families that have none", () =>
  checkRefusal("llama", { final_logit_softcapping: 30 }, "final_logit_softcapping is 30"));
test("refuses bidirectional attention", () =>
  checkRefusal("gemma3", { use_bidirectional_attention: true }, "use_bidirectional_attention is true"));
test("refuses quantized weights", () =>
  checkRefusal(
    "llama",
    { quantization_config: { bits: 4 } },
    'quantization_config is {"bits":4}',
    "original",
  ));
test("refuses unknown activations", () =>
  checkRefusal("llama", { hidden_act: "gelu_new" }, 'hidden_act is "gelu_new"', "silu"));
test("refuses unknown architectures", () =>
  checkRefusal("llama", { architectures: ["PhiForCausalLM"] }, "PhiForCausalLM", "LlamaForCausalLM"));
test("refuses a mixture of experts", () => checkRefusal("qwen3", { num_experts: 8 }, "num_experts is 8"));
test("refuses partly rotated heads", () =>
  checkRefusal("llama", { partial_rotary_factor: 0.5 }, "partial_rotary_factor is 0.5"));
test("reads how much of a head Phi-3 rotates in both spellings, and refuses an odd part", () => {
  const sizeWith = (changes: Readonly<Record<string, unknown>>): number =>
    parse("phi3-sliding", changes).rotarySize;
  assert.equal(sizeWith({ rope_parameters: undefined, partial_rotary_factor: undefined }), 16);
  assert.equal(sizeWith({ rope_parameters: undefined, partial_rotary_factor: 0.5 }), 8);
  assert.equal(
    sizeWith({ rope_parameters: { rope_theta: 1e4, rope_type: "default", partial_rotary_factor: 0.25 } }),
    4,
  );
  for (const factor of [0.2, 0.01, 1.5])
    checkRefusal(
      "phi3-sliding",
      { rope_parameters: { partial_rotary_factor: factor } },
      `is ${factor}`,
      "even part",
    );
});
test("reads LongRoPE as Phi-3's first files spell it, and refuses a list of another length", () => {
  const factors = (count: number): number[] => Array<number>(count).fill(2);
  const scaling = (count: number) => ({
    rope_parameters: undefined,
    original_max_position_embeddings: 64,
    rope_scaling: { type: "su", short_factor: factors(count), long_factor: factors(count) },
  });
  assert.deepEqual(parse("phi3-sliding", scaling(8)).rotaries[0].scaling, {
    kind: "longrope",
    factors: factors(8),
    attentionFactor: Math.sqrt(1 + Math.log(4) / Math.log(64)),
  });
  checkRefusal("phi3-sliding", scaling(7), "rope_scaling.long_factor", "each of the 8 pairs");
});
test("refuses layers of unknown kind", () =>
  checkRefusal(
    "qwen3",
    { layer_types: ["full_attention", "chunked_attention", "full_attention"] },
    "layer_types",
  ));
test("refuses sliding layers without a window", () =>
  checkRefusal(
    "qwen3",
    { use_sliding_window: true, layer_types: Array(3).fill("sliding_attention") },
    "sliding_window is null",
  ));
test("refuses query heads that key heads do not divide", () =>
  checkRefusal("llama", { num_key_value_heads: 3 }, "num_key_value_heads is 3"));
test("refuses missing sizes", () =>
  checkRefusal("llama", { hidden_size: undefined }, "hidden_size is absent"));
test("refuses sizes that no model has, before allocating memory for them", () =>
  checkRefusal(
    "llama",
    { num_hidden_layers: 1e9, vocab_size: 1e12, max_position_embeddings: 2 ** 24 + 1 },
    "num_hidden_layers is 1000000000: a whole number from 1 to 10000 is needed",
    "vocab_size is 1000000000000",
    "max_position_embeddings is 16777217: a whole number from 1 to 16777216 is needed",
  ));

for (const type of ["ntk", "dynamic"]) {
  test(`refuses the rotary scaling ${type} in both spellings`, () => {
    checkRefusal(
      "llama",
      { rope_parameters: { rope_theta: 1e4, rope_type: type } },
      `rope_parameters.rope_type is "${type}"`,
    );
    checkRefusal(
      "llama",
      { rope_parameters: undefined, rope_scaling: { type, factor: 2 } },
      `rope_scaling.type is "${type}"`,
    );
  });
}

test("names every fault in one error", () =>
  checkRefusal(
    "llama",
    { attention_chunk_size: 8, hidden_act: "gelu" },
    "attention_chunk_size",
    "hidden_act",
  ));

test("reports a missing model configuration", () => {
  assert.throws(
    () => readModelConfig("test/fixtures"),
    (error) =>
      error instanceof ServiceError && error.code === "not_found" && /config\.json/.test(error.message),
  );
});

test("reads the text model of a multimodal one, with the sizes that published files omit", () => {
  const text = {
    hidden_size: 2560,
    intermediate_size: 10_240,
    model_type: "gemma3_text",
    num_hidden_layers: 34,
    rope_scaling: { factor: 8, rope_type: "linear" },
    sliding_window: 1024,
  };
  const whole = {
    architectures: ["Gemma3ForConditionalGeneration"],
    model_type: "gemma3",
    eos_token_id: [1, 106],
    text_config: text,
    vision_config: { hidden_size: 1152, num_hidden_layers: 27 },
  };
  const config = parseModelConfig(whole, {}, "here");
  assert.deepEqual(
    [config.architecture, config.vocabularySize, config.headCount, config.kvHeadCount, config.headSize],
    ["Gemma3ForCausalLM", 262_208, 8, 4, 256],
  );
  assert.deepEqual([config.contextLength, config.isTied, config.endOfTextIds], [131_072, true, [1, 106]]);
  assert.deepEqual(config.rotaries, [
    { theta: 10_000, scaling: { kind: "none" } },
    { theta: 1_000_000, scaling: { kind: "linear", factor: 8 } },
  ]);
  const refuses = (changes: object, message: RegExp): void =>
    assert.throws(() => parseModelConfig({ ...whole, ...changes }, {}, "here"), {
      code: "unsupported",
      message,
    });
  refuses({ quantization_config: { quant_method: "fp8" } }, /quantization_config is /);
  refuses({ text_config: { ...text, final_logit_softcapping: 30 } }, /final_logit_softcapping is 30/);
  refuses({ text_config: { ...text, model_type: "gemma4_text" } }, /architectures is /);
});
