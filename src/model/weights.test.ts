// Where a session finds weights: in memory, in place, or converted once into a file.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ModelConfig } from "./config.ts";
import { readModelConfig } from "./config/read-config.ts";
import { modelParameters } from "./parameters.ts";
import { createRandomWeights, writeModelWeights } from "./testing/random-weights.ts";
import type { WeightSource } from "../graph/weight-source.ts";
import { readModelWeights } from "./weights.ts";
import { writeSafetensors } from "../model-files/write-safetensors.ts";

const scratch = mkdtempSync(join(tmpdir(), "hone-weights-"));
after(() => rmSync(scratch, { recursive: true }));

const gemma = "test/fixtures/goldens/models/gemma3";

function values(source: WeightSource<"float32">, size: number): Float32Array {
  if ("data" in source) return source.data;
  const bytes = readFileSync(source.file).subarray(source.offset, source.offset + 4 * size);
  return new Float32Array(new Uint8Array(bytes).buffer);
}

function checkSame(
  config: ModelConfig,
  left: ReadonlyMap<string, WeightSource<"float32">>,
  right: ReadonlyMap<string, WeightSource<"float32">>,
): void {
  assert.deepEqual([...left.keys()].sort(), [...right.keys()].sort());
  for (const { name, shape } of modelParameters(config)) {
    const size = shape.reduce((product, length) => product * length, 1);
    assert.deepEqual(values(left.get(name)!, size), values(right.get(name)!, size), name);
  }
}

test("converts large models once into a file that replaces its earlier ones", () => {
  const config = readModelConfig(gemma);
  const folder = mkdtempSync(join(scratch, "gemma-"));
  cpSync(gemma, folder, { recursive: true });
  const cacheFolder = join(scratch, "cache");
  const options = { cacheFolder, memoryBytesMax: 1000 };
  const inMemory = readModelWeights(folder, config, { cacheFolder: null });
  checkSame(config, readModelWeights(folder, config, options), inMemory);
  const [first, ...others] = readdirSync(cacheFolder);
  assert.deepEqual(others, []);
  const { ino: node } = statSync(join(cacheFolder, first));
  checkSame(config, readModelWeights(folder, config, options), inMemory);
  assert.deepEqual(readdirSync(cacheFolder), [first]);
  assert.equal(statSync(join(cacheFolder, first)).ino, node, "what was converted is not written again");
  utimesSync(join(folder, "model.safetensors"), 1000, 1000);
  checkSame(config, readModelWeights(folder, config, options), inMemory);
  assert.equal(readdirSync(cacheFolder).length, 1);
  assert.notEqual(readdirSync(cacheFolder)[0], first);
});

test("uses float32 files where they lie", () => {
  const config = readModelConfig("test/fixtures/goldens/models/qwen2");
  const weights = createRandomWeights(config, { seed: 1 });
  const folder = mkdtempSync(join(scratch, "float32-"));
  writeModelWeights(folder, config, { weights, type: "F32" });
  const sources = readModelWeights(folder, config, { cacheFolder: null });
  for (const [name, data] of weights) {
    const source = sources.get(name)!;
    assert.ok("file" in source);
    assert.deepEqual(values(source, data.length), data);
  }
});

test("adds one to Gemma's norms when reading, and takes it away when writing", () => {
  const config = readModelConfig(gemma);
  const weights = createRandomWeights(config, { seed: 2 });
  const folder = mkdtempSync(join(scratch, "norms-"));
  writeModelWeights(folder, config, { weights, type: "BF16" });
  const read = readModelWeights(folder, config, { cacheFolder: null });
  const norm = values(read.get("model.layers.0.self_attn.q_norm.weight")!, 16);
  assert.ok(norm.every((value) => value === 1));
});

test("names missing, misshapen and unknown tensors", () => {
  const config = readModelConfig("test/fixtures/goldens/models/llama");
  const weights = createRandomWeights(config, { seed: 3 });
  const folder = mkdtempSync(join(scratch, "faulty-"));
  const tensors = modelParameters(config)
    .filter(({ name }) => name !== "model.layers.1.mlp.up_proj.weight")
    .map(({ name, shape }) => ({ name, shape: shape.toReversed(), data: weights.get(name)! }));
  const unknown = { name: "vision.weight", shape: [1], data: Float32Array.of(0) };
  writeSafetensors(join(folder, "model.safetensors"), [...tensors, unknown], { type: "F32" });
  assert.throws(
    () => readModelWeights(folder, config, { cacheFolder: null }),
    (error: Error) => {
      assert.match(error.message, /model\.embed_tokens\.weight is \[64, 512\].*\[512, 64\]/);
      assert.match(error.message, /and \d+ more/);
      return true;
    },
  );
  const fitting = modelParameters(config).map(({ name, shape }) => ({
    name,
    shape,
    data: weights.get(name)!,
  }));
  writeSafetensors(join(folder, "model.safetensors"), [...fitting.slice(1), unknown], { type: "F32" });
  assert.throws(
    () => readModelWeights(folder, config, { cacheFolder: null }),
    /model\.embed_tokens\.weight is missing; vision\.weight is not known/,
  );
});

test("passes over what older files hold beside the weights: frequencies, and a tied output projection", () => {
  const tied = readModelConfig("test/fixtures/goldens/models/qwen2");
  const frequencies = {
    name: "model.layers.0.self_attn.rotary_emb.inv_freq",
    shape: [1],
    data: Float32Array.of(1),
  };
  const projection = { name: "lm_head.weight", shape: [1], data: Float32Array.of(1) };
  const read = (config: ModelConfig, others: readonly (typeof projection)[]) => {
    const weights = createRandomWeights(config, { seed: 4 });
    const tensors = modelParameters(config).map(({ name, shape }) => ({
      name,
      shape,
      data: weights.get(name)!,
    }));
    const folder = mkdtempSync(join(scratch, "older-"));
    writeSafetensors(join(folder, "model.safetensors"), [...tensors, ...others], { type: "F32" });
    return readModelWeights(folder, config, { cacheFolder: null });
  };
  assert.deepEqual([...read(tied, [frequencies, projection]).keys()], [...read(tied, []).keys()]);
  const untied = readModelConfig("test/fixtures/goldens/models/llama");
  assert.deepEqual([...read(untied, [frequencies]).keys()], [...read(untied, []).keys()]);
});
