// Adapters in the PEFT layout: the reference's own file, round trips, and refusals by name.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readModelConfig } from "./config/read-config.ts";
import { createLoraAdapter, servingLoraInputs } from "./lora.ts";
import { readLoraAdapter, writeLoraAdapter } from "./peft-folder.ts";

const scratch = mkdtempSync(join(tmpdir(), "hone-peft-"));
after(() => rmSync(scratch, { recursive: true }));

const config = readModelConfig("test/fixtures/goldens/models/qwen3");
const reference = "test/fixtures/goldens/training/adapter";

/** The reference adapter with some settings replaced. */
function changedAdapter(changes: Readonly<Record<string, unknown>>): string {
  const folder = mkdtempSync(join(scratch, "changed-"));
  cpSync(reference, folder, { recursive: true });
  const file = join(folder, "adapter_config.json");
  const settings = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  writeFileSync(file, JSON.stringify({ ...settings, ...changes }));
  return folder;
}

test("reads an adapter that PEFT wrote", () => {
  const adapter = readLoraAdapter(reference, config);
  assert.equal(adapter.rank, 4);
  assert.equal(adapter.scale, 2);
  assert.equal(adapter.targets.length, 7);
  assert.equal(adapter.matrices.size, 42);
  assert.equal(adapter.matrices.get("model.layers.2.self_attn.o_proj.lora_A.weight")?.length, 4 * 128);
});

test("reads back what it wrote, also with few targets", () => {
  const folder = join(scratch, "written");
  const adapter = createLoraAdapter(config, { rank: 3, alpha: 5, targets: ["v_proj", "q_proj"], seed: 1 });
  writeLoraAdapter(folder, adapter, { config, baseModelName: "base" });
  assert.deepEqual(readLoraAdapter(folder, config), adapter);
  const settings = JSON.parse(readFileSync(join(folder, "adapter_config.json"), "utf8")) as Record<
    string,
    unknown
  >;
  assert.equal(settings["peft_type"], "LORA");
  assert.deepEqual(settings["target_modules"], ["q_proj", "v_proj"]);
  assert.equal(settings["base_model_name_or_path"], "base");
});

test("keeps rank stabilisation through a round trip", () => {
  const adapter = readLoraAdapter(changedAdapter({ use_rslora: true }), config);
  assert.equal(adapter.scale, 8 / Math.sqrt(4));
  const folder = join(scratch, "stabilised");
  const stabilised = { ...adapter, scale: 8 / Math.sqrt(3), rank: 4 };
  writeLoraAdapter(folder, stabilised, { config, baseModelName: "base" });
  const settings = JSON.parse(readFileSync(join(folder, "adapter_config.json"), "utf8")) as Record<
    string,
    unknown
  >;
  assert.equal(settings["use_rslora"], true);
});

test("a new adapter is seeded, within PEFT's bound, and changes nothing", () => {
  const adapter = createLoraAdapter(config, { seed: 5 });
  assert.deepEqual(createLoraAdapter(config, { seed: 5 }), adapter);
  assert.notDeepEqual(createLoraAdapter(config, { seed: 6 }), adapter);
  const a = adapter.matrices.get("model.layers.0.mlp.down_proj.lora_A.weight")!;
  const greatest = a.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const bound = 1 / Math.sqrt(160);
  assert.ok(greatest <= bound && greatest > 0.95 * bound);
  const b = adapter.matrices.get("model.layers.0.mlp.down_proj.lora_B.weight")!;
  assert.ok(b.every((value) => value === 0));
});

test("folds the scale into B for serving, and fills modules without an adapter with zeros", () => {
  const adapter = readLoraAdapter(reference, config);
  const queryB = "model.layers.0.self_attn.q_proj.lora_B.weight";
  const keyA = "model.layers.0.self_attn.k_proj.lora_A.weight";
  const stored = adapter.matrices.get(queryB)!;
  const inputs = servingLoraInputs(config, { ...adapter, matrices: new Map([[queryB, stored]]) });
  assert.equal(inputs.size, 42);
  assert.deepEqual(
    inputs.get(queryB)?.data,
    stored.map((value) => 2 * value),
  );
  assert.deepEqual(inputs.get(keyA), { shape: [4, 64], data: new Float32Array(4 * 64) });
  assert.deepEqual(servingLoraInputs(config, null).get(keyA)?.shape, [1, 64]);
});

for (const init of ["pissa", "pissa_niter_4", "olora", "corda", "loftq", "lora_ga"])
  test(`refuses an adapter of ${init}, whose base weights are others`, () => {
    assert.throws(() => readLoraAdapter(changedAdapter({ init_lora_weights: init }), config), {
      code: "unsupported",
      message: new RegExp(`init_lora_weights is "${init}".*path_initial_model_for_weight_conversion`),
    });
  });

test("reads adapters of every start that leaves the base's weights as they are", () => {
  for (const init of [true, false, null, "gaussian", "orthogonal", "eva"])
    assert.equal(readLoraAdapter(changedAdapter({ init_lora_weights: init }), config).rank, 4);
});

for (const [field, value] of Object.entries({
  use_dora: true,
  bias: "all",
  modules_to_save: ["lm_head"],
  rank_pattern: { q_proj: 2 },
  alpha_pattern: { q_proj: 2 },
  layers_to_transform: [0],
  fan_in_fan_out: true,
  peft_type: "IA3",
  trainable_token_indices: [1],
})) {
  test(`refuses ${field} by name`, () => {
    assert.throws(() => readLoraAdapter(changedAdapter({ [field]: value }), config), {
      code: "unsupported",
      message: new RegExp(`${field} is ${JSON.stringify(value).replaceAll(/[[\]{}]/g, "\\$&")}`),
    });
  });
}

test("refuses an adapter of another model, naming matrices", () => {
  const other = readModelConfig("test/fixtures/goldens/models/llama");
  assert.throws(() => readLoraAdapter(reference, other), {
    code: "invalid",
    message: /q_proj\.lora_B\.weight is \[128, 4\], the configuration makes it \[64, 4\]/,
  });
});

test("says which file is missing", () => {
  assert.throws(() => readLoraAdapter(scratch, config), {
    code: "not_found",
    message: /adapter_config\.json/,
  });
});
