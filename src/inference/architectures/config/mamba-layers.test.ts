// Tests the Mamba-2 settings of Granite 4 and Nemotron-H in older and newer spellings, and that unsupported settings
// are refused.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ModelConfig } from "../config.ts";
import { parseModelConfig, readModelConfig } from "./read-config.ts";

const models = "test/fixtures/goldens/models";

function parse(name: string, changes: Readonly<Record<string, unknown>>): ModelConfig {
  const stored = JSON.parse(readFileSync(`${models}/${name}/config.json`, "utf8")) as object;
  const changed = Object.entries({ ...stored, ...changes }).filter(([, value]) => value !== undefined);
  return parseModelConfig(Object.fromEntries(changed), {}, "a test");
}

test("reads Granite's Mamba layers, whose heads have a size by default", () => {
  const config = readModelConfig(`${models}/granite4-hybrid`);
  assert.deepEqual(
    config.layers.map(({ kind }) => kind),
    ["mamba", "mamba", "attention", "mamba"],
  );
  const sizes = { groups: 1, heads: 8, headSize: 16, stateSize: 24, hasProjectionBias: false };
  assert.deepEqual(config.mamba, { ...sizes, stepMin: 0.01, stepMax: 2 });
  assert.deepEqual(config.convolution, { kernelSize: 4, hasBias: true });
  const older = parse("granite4-hybrid", { mamba_d_head: "auto", time_step_limit: undefined });
  assert.deepEqual(older.mamba, { ...sizes, stepMin: 0, stepMax: Infinity });
  assert.equal(parse("granite4-hybrid", { layer_types: Array(4).fill("attention") }).mamba, null);
});

test("reads Nemotron-H's layers from a list, or from a pattern in older files", () => {
  const config = readModelConfig(`${models}/nemotron-h`);
  assert.deepEqual(
    config.layers.map(({ kind, isAlone }) => [kind, isAlone]),
    ["mamba", "feed-forward", "mamba", "attention", "feed-forward"].map((kind) => [kind, true]),
  );
  assert.equal(config.mamba?.stepMin, 0.001);
  const older = parse("nemotron-h", {
    layers_block_type: undefined,
    hybrid_override_pattern: "M-M*-",
    n_groups: undefined,
    mamba_n_groups: 3,
  });
  assert.deepEqual(older.layers, config.layers);
  assert.equal(older.mamba?.groups, 3);
});

test("reads infinite numbers that Python wrote into config.json", () => {
  const folder = mkdtempSync(join(tmpdir(), "hone-infinite-"));
  const text = readFileSync(`${models}/granite4-hybrid/config.json`, "utf8");
  writeFileSync(
    join(folder, "config.json"),
    text.replace(/"time_step_limit": \[[^\]]*\]/, '"time_step_limit": [0.5, Infinity], "note": "-Infinity]"'),
  );
  const { mamba } = readModelConfig(folder);
  rmSync(folder, { recursive: true });
  assert.deepEqual([mamba?.stepMin, mamba?.stepMax], [0.5, Infinity]);
});

const refusals: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
  ["granite4-hybrid", { num_local_experts: 8 }, /num_local_experts is 8: a mixture of experts/],
  ["granite4-hybrid", { layer_types: undefined }, /at least one layer of attention is needed/],
  ["granite4-hybrid", { mamba_n_heads: 7 }, /mamba_n_heads is 7: heads of size 16 must have 128 channels/],
  ["granite4-hybrid", { mamba_n_groups: 3 }, /mamba_n_groups is 3: 8 heads cannot be divided evenly/],
  ["granite4-hybrid", { hidden_act: "gelu_pytorch_tanh" }, /silu is computed in Mamba layers/],
  ["granite4-hybrid", { time_step_limit: [2, 1] }, /time_step_limit is \[2,1\]: two numbers are needed/],
  ["nemotron-h", { layers_block_type: ["moe", "attention"] }, /layers_block_type is .*a mixture of experts/],
  ["nemotron-h", { layers_block_type: ["mamba", "rwkv"] }, /layers of Mamba-2 \(M\), attention/],
  ["nemotron-h", { attention_bias: true }, /attention_bias is true/],
  ["nemotron-h", { mlp_hidden_act: "gelu" }, /mlp_hidden_act is "gelu"/],
];

test("refuses settings that are not computed, by their names", () => {
  for (const [name, changes, message] of refusals)
    assert.throws(() => parse(name, changes), { code: "unsupported", message }, JSON.stringify(changes));
});
