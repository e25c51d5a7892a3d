// Tests draft tokens. For any number of drafts, they get the same scores, keys and values, to the last bit, as tokens
// that are decoded one at a time.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { seededRandom, type Random } from "../../../base/domain/random.ts";
import { searchedOf, searchSeeds } from "../../../base/domain/testing/search.ts";
import type { ModelConfig } from "../../architectures/config.ts";
import { parseModelConfig, readModelConfig } from "../../architectures/config/read-config.ts";
import { createRandomAdapter } from "../../architectures/testing/random-adapter.ts";
import { createRandomWeights, writeModelWeights } from "../../architectures/testing/random-weights.ts";
import { readQuantizedWeights } from "../../architectures/weights.ts";
import { toAdapterFeeds } from "../adapters/read-adapter.ts";
import { KvLane } from "../cache/kv-lane.ts";
import { positionValues } from "../cache/slab.ts";
import { createGraphRunner } from "../graph-runner.ts";
import type { LoadedAdapter, ModelRunner } from "../model-runner.ts";
import { integerKernels } from "../../onnx/integer-kernels.ts";

function randomAdapter(config: ModelConfig, rank: number): LoadedAdapter {
  const adapter = createRandomAdapter(config, { rank, alpha: 2 * rank, seed: rank });
  return { id: `rank ${rank}`, revision: `rank ${rank}`, ...toAdapterFeeds(config, adapter) };
}

/** Creates a lane with a prompt in each slot. The prompts differ in length, and some nearly fill the capacity. */
async function laneWithPrompts(
  runner: ModelRunner,
  adapter: LoadedAdapter | null,
  prompts: readonly (readonly number[])[],
): Promise<KvLane> {
  const lane = new KvLane(runner.shape);
  lane.reshape(prompts.length, 128);
  for (const tokenIds of prompts)
    await runner.prefill(lane, adapter, [{ slot: lane.takeSlot(), tokenIds, logits: "none" }]);
  return lane;
}

/** Returns the keys, values and states in all slots of a lane. */
function contentOf(lane: KvLane): readonly Float32Array[] {
  return lane.lengths.flatMap((length, slot) => {
    const block = new Float32Array(length * positionValues(lane.shape));
    lane.copyToBlock(slot, { position: 0, offset: 0, count: length }, block);
    return [block, lane.states.read(slot)];
  });
}

async function checkDrafts(
  runner: ModelRunner,
  adapter: LoadedAdapter | null,
  random: Random,
): Promise<void> {
  const { vocabularySize } = runner.shape;
  const ids = (count: number): readonly number[] =>
    Array.from({ length: count }, () => random.index(vocabularySize));
  const prompts = Array.from({ length: 1 + random.index(3) }, () => ids(1 + random.index(110)));
  const [drafting, plain] = [
    await laneWithPrompts(runner, adapter, prompts),
    await laneWithPrompts(runner, adapter, prompts),
  ];
  for (let step = 0; step < 3; step++) {
    // Each row has its latest token and up to five draft tokens, of which any number is accepted.
    const rows = prompts.map(() => ids(1 + random.index(6)));
    const actual = await runner.decodeDrafts(drafting, adapter, rows);
    const accepted = rows.map(({ length }) => random.index(length));
    for (const [slot, { length }] of rows.entries())
      if (length > 1) await runner.acceptDraft(drafting, slot, accepted[slot]);
    for (const [slot, row] of rows.entries()) {
      const context = `slot ${slot} of ${rows.length}, ${row.length} tokens after ${plain.lengths[slot]}`;
      for (const [place, id] of row.slice(0, accepted[slot] + 1).entries()) {
        // Each call computes a token in every row. In all rows except `slot`, it is removed afterwards.
        const tokenIds = rows.map((_, other) => (other === slot ? id : 0));
        const before = rows.map((_, other) => plain.states.read(other));
        const logits_BV = await runner.decode(plain, adapter, tokenIds);
        for (const other of rows.keys()) {
          if (other === slot) continue;
          plain.advance(other, -1);
          plain.states.write(other, before[other]);
        }
        assert.deepEqual(
          actual[slot].subarray(place * vocabularySize, (place + 1) * vocabularySize),
          logits_BV.subarray(slot * vocabularySize, (slot + 1) * vocabularySize),
          context,
        );
      }
    }
    assert.deepEqual(contentOf(drafting), contentOf(plain));
  }
}

async function checkModel(
  config: ModelConfig,
  folder: string,
  { quantization, name }: { readonly quantization: "off" | "8" | "4"; readonly name: string },
): Promise<void> {
  const read = { cacheFolder: null, quantization, kernels: await integerKernels(null) };
  const { sources, forms } = readQuantizedWeights(folder, config, read);
  for (const threads of searchedOf([1, 2], 1, name)) {
    const options = { config, weights: sources, forms, threads, adapterCountMax: 1 };
    const runner = await createGraphRunner(options);
    for (const adapter of [null, randomAdapter(config, 4), randomAdapter(config, 20)])
      for (const seed of searchSeeds(1))
        await checkDrafts(runner, adapter, seededRandom("drafts", name, seed));
    await runner.close();
  }
}

const cases = [
  ["llama", "off"],
  ["mistral-sliding", "off"],
  ["gemma3", "off"],
  ["qwen3", "off"],
  ["llama", "8"],
  ["llama", "4"],
  ["gemma3", "8"],
  ["lfm2", "off"],
  ["lfm2-biases", "8"],
  ["qwen3.5", "off"],
  ["qwen3.5-moe", "8"],
  ["granite4-hybrid", "off"],
  ["granite4-hybrid", "4"],
  ["nemotron-h", "off"],
  ["gemma4", "8"],
  ["gemma4-large", "off"],
  ["qwen3-moe", "off"],
  ["qwen3-moe-sums", "8"],
  ["gpt-oss", "off"],
] as const;

for (const [name, quantization] of searchedOf(cases, 2)) {
  test(`${name}, ${quantization}: drafts get the same numbers as tokens decoded one at a time`, () => {
    const folder = `test/fixtures/goldens/models/${name}`;
    return checkModel(readModelConfig(folder), folder, { quantization, name });
  });
}

for (const quantization of searchedOf(["off", "8", "4"] as const, 1, "wide")) {
  test(`drafts get the same numbers at widths that threads split, ${quantization}`, async () => {
    const stored = {
      architectures: ["LlamaForCausalLM"],
      vocab_size: 64,
      hidden_size: 576,
      intermediate_size: 1536,
      num_hidden_layers: 1,
      num_attention_heads: 9,
      num_key_value_heads: 3,
      head_dim: 64,
      max_position_embeddings: 128,
    };
    const config = parseModelConfig(stored, {}, "a wide model");
    const folder = mkdtempSync(join(tmpdir(), "hone-drafts-"));
    try {
      const weights = createRandomWeights(config, { seed: 1, deviation: 0.2 });
      writeModelWeights(folder, config, { weights, type: "F32" });
      await checkModel(config, folder, { quantization, name: "wide" });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
