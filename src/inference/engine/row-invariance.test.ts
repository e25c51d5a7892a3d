// Tests that a row gets the same numbers from the runner in any call, to the last bit. Other rows, other prompt parts,
// and the division of a prompt into parts must not matter.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Random, seededRandom } from "../../base/domain/random.ts";
import type { ModelConfig } from "../architectures/config.ts";
import { parseModelConfig, readModelConfig } from "../architectures/config/read-config.ts";
import { createRandomAdapter } from "../architectures/testing/random-adapter.ts";
import { createRandomWeights, writeModelWeights } from "../architectures/testing/random-weights.ts";
import { readQuantizedWeights } from "../architectures/weights.ts";
import { weightsInMemory } from "../architectures/testing/weights-in-memory.ts";
import { toAdapterFeeds } from "./adapters/read-adapter.ts";
import { KvLane } from "./cache/kv-lane.ts";
import { createGraphRunner } from "./graph-runner.ts";
import type { DecodingRows, LoadedAdapter, ModelRunner, PromptPart } from "./model-runner.ts";
import { searchedOf, searchSeeds } from "../../base/domain/testing/search.ts";
import { integerKernels } from "../onnx/integer-kernels.ts";
import { recurrenceOf } from "../architectures/recurrent/recurrence.ts";

const batchSizes = [1, 2, 3, 4, 8, 16, 33, 64];

/**
 * Returns a model so wide that the runtime would divide the columns of its products among threads. The runtime would
 * then sum in another order.
 */
function wideConfig(): ModelConfig {
  const config = {
    architectures: ["LlamaForCausalLM"],
    vocab_size: 64,
    hidden_size: 576,
    intermediate_size: 1536,
    num_hidden_layers: 1,
    num_attention_heads: 9,
    num_key_value_heads: 3,
    head_dim: 64,
    max_position_embeddings: 64,
  };
  return parseModelConfig(config, {}, "a wide model");
}

/** Returns a mixture of experts as wide as the model of {@link wideConfig}. */
function wideExperts(): ModelConfig {
  const config = {
    architectures: ["Qwen3MoeForCausalLM"],
    vocab_size: 64,
    hidden_size: 576,
    intermediate_size: 1536,
    moe_intermediate_size: 736,
    num_experts: 9,
    num_experts_per_tok: 3,
    num_hidden_layers: 1,
    num_attention_heads: 9,
    num_key_value_heads: 3,
    head_dim: 64,
    max_position_embeddings: 64,
  };
  return parseModelConfig(config, {}, "a wide mixture");
}

function randomAdapter(config: ModelConfig, rank: number): LoadedAdapter {
  const adapter = createRandomAdapter(config, { rank, alpha: 2 * rank, seed: rank });
  return { id: `rank ${rank}`, revision: `rank ${rank}`, ...toAdapterFeeds(config, adapter) };
}

function laneOf(runner: ModelRunner, slotCount: number): KvLane {
  const lane = new KvLane(runner.shape);
  lane.reshape(slotCount, 128);
  for (let slot = 0; slot < slotCount; slot++) lane.takeSlot();
  return lane;
}

/** Computes prompts, and one token after each prompt: first each row by itself, then in batches of every size. */
async function checkBatches(runner: ModelRunner, adapter: LoadedAdapter | null, what: string): Promise<void> {
  const promptOf = (row: number): readonly number[] => [row, (3 * row + 1) % 64, (row * row) % 64];
  /** Computes rows together; returns the scores of each prompt and of one token after it. */
  const compute = async (rows: readonly number[]): Promise<readonly Float32Array[]> => {
    const lane = laneOf(runner, rows.length);
    const parts = rows.map((row, slot): PromptPart => ({
      slot,
      tokenIds: promptOf(row),
      logits: row % 2 === 0 ? "all" : "last",
    }));
    const prompts = await runner.prefill(lane, adapter, parts);
    const logits_BV = await runner.decode(lane, adapter, rows);
    const size = runner.shape.vocabularySize;
    return prompts.map((logits, slot) =>
      Float32Array.from([...logits, ...logits_BV.subarray(slot * size, (slot + 1) * size)]),
    );
  };
  const alone = new Map<number, Float32Array>();
  for (const row of Array(64).keys()) alone.set(row, (await compute([row]))[0]);
  for (const size of batchSizes) {
    const rows = Array.from({ length: size }, (_, index) => (7 * index + size) % 64);
    const together = await compute(rows);
    rows.forEach((row, index) =>
      assert.deepEqual(together[index], alone.get(row), `${what}, row ${row} in a batch of ${size}`),
    );
  }
}

const wideCases = [
  ["8", wideConfig],
  ["4", wideConfig],
  ["off", wideExperts],
  ["8", wideExperts],
  ["4", wideExperts],
] as const;

for (const [quantization, configOf] of searchedOf(wideCases, 1)) {
  test(`with quantization ${quantization}, a row of ${configOf.name} gets the same numbers in any batch`, async (t) => {
    const config = configOf();
    const folder = mkdtempSync(join(tmpdir(), "hone-rows-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const weights = createRandomWeights(config, { seed: 1, deviation: 0.2 });
    writeModelWeights(folder, config, { weights, type: "F32" });
    const read = { cacheFolder: null, quantization, kernels: await integerKernels(null) };
    const { sources, forms } = readQuantizedWeights(folder, config, read);
    const options = { config, weights: sources, forms, threads: 2, adapterCountMax: 1, pairsAdapters: true };
    const runner = await createGraphRunner(options);
    await checkBatches(runner, null, `${quantization} bits`);
    const adapter = randomAdapter(config, 16);
    await checkBatches(runner, adapter, `${quantization} bits with an adapter`);
    const random = seededRandom("pairs", quantization);
    for (const pair of [
      [null, null],
      [null, adapter],
      [adapter, randomAdapter(config, 3)],
    ] as const)
      await checkPairs(runner, pair, random);
    await runner.close();
  });
}

test("gives a row of an adapter the same numbers in any batch, at every rank", async () => {
  const config = wideConfig();
  const weights = weightsInMemory(config, createRandomWeights(config, { seed: 1, deviation: 0.2 }));
  const runner = await createGraphRunner({ config, weights, threads: 2, adapterCountMax: 1 });
  for (const rank of searchedOf([1, 8, 16, 17, 32, 64, 256], 1)) {
    const adapter = randomAdapter(config, rank);
    await checkBatches(runner, adapter, `rank ${rank}`);
  }
  await runner.close();
});

/**
 * Decodes the rows of two lanes in one call, and compares with a separate call for each lane. The lanes differ in
 * length, number of rows and capacity.
 */
async function checkPairs(
  runner: ModelRunner,
  [one, other]: readonly [LoadedAdapter | null, LoadedAdapter | null],
  random: Random,
): Promise<void> {
  const { vocabularySize, caches } = runner.shape;
  const fill = async (
    adapter: LoadedAdapter | null,
    count: number,
    capacity: number,
  ): Promise<DecodingRows> => {
    const lane = new KvLane(runner.shape);
    lane.reshape(count, capacity);
    const ids = (length: number): readonly number[] =>
      Array.from({ length }, () => random.index(vocabularySize));
    const parts = Array.from({ length: count }, (): PromptPart => {
      const slot = lane.takeSlot();
      return { slot, tokenIds: ids(1 + random.index(50)), logits: "none" };
    });
    await runner.prefill(lane, adapter, parts);
    return { lane, adapter, tokenIds: ids(count) };
  };
  const pair = [
    await fill(one, 1 + random.index(9), 64),
    await fill(other, 1 + random.index(9), 192),
  ] as const;
  const computed = ({ lane }: DecodingRows): readonly Float32Array[] =>
    lane.lengths.flatMap((_, slot) => [
      ...Array.from({ length: caches.length }, (_, layer) => lane.keys(layer, slot, 1).slice()),
      lane.states.read(slot),
    ]);
  for (let step = 0; step < 3; step++) {
    const logits: Float32Array[] = [];
    const states = pair.map(({ lane }) => lane.lengths.map((_, slot) => lane.states.read(slot)));
    for (const { lane, adapter, tokenIds } of pair) logits.push(await runner.decode(lane, adapter, tokenIds));
    const alone = pair.map(computed);
    for (const [group, { lane }] of pair.entries()) {
      for (const slot of lane.lengths.keys()) {
        lane.advance(slot, -1);
        lane.states.write(slot, states[group][slot]);
      }
    }
    assert.ok(runner.pairs(one, other));
    assert.deepEqual(await runner.decodePair(pair), logits, `step ${step}`);
    assert.deepEqual(pair.map(computed), alone, `keys of step ${step}`);
  }
}

/** Divides prompts at random into parts, computes random groups of parts, and checks every returned row of scores. */
async function checkCuts(runner: ModelRunner, adapter: LoadedAdapter | null, random: Random): Promise<void> {
  const { vocabularySize } = runner.shape;
  const prompts = [70, 9, 33, 65, 2, 48].map((length) =>
    Array.from({ length }, () => random.index(vocabularySize)),
  );
  const whole: Float32Array[] = [];
  for (const tokenIds of prompts) {
    const lane = laneOf(runner, 1);
    whole.push(...(await runner.prefill(lane, adapter, [{ slot: 0, tokenIds, logits: "all" }])));
  }
  const lane = laneOf(runner, prompts.length);
  const modes = ["all", "last", "none"] as const;
  for (;;) {
    const open = prompts.flatMap((prompt, slot) => (lane.lengths[slot] < prompt.length ? [slot] : []));
    if (open.length === 0) return;
    const chosen = open.filter(() => random.uniform() < 0.7);
    const starts = [...lane.lengths];
    const parts = chosen.map((slot): PromptPart => {
      const count = 1 + random.index(40);
      const tokenIds = prompts[slot].slice(starts[slot], starts[slot] + count);
      return { slot, tokenIds, logits: modes[random.index(3)] };
    });
    const results = parts.length === 0 ? [] : await runner.prefill(lane, adapter, parts);
    parts.forEach(({ slot, tokenIds, logits }, index) => {
      const end = (starts[slot] + tokenIds.length) * vocabularySize;
      // Hidden states are not tested here; `test/exactness` compares them bit for bit.
      const rowCount = { all: tokenIds.length, last: 1, none: 0, "last-hidden": 0 }[logits];
      const expected = whole[slot].subarray(end - rowCount * vocabularySize, end);
      assert.deepEqual(results[index], expected, `${logits} of ${tokenIds.length} after ${starts[slot]}`);
    });
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
  ["qwen3.5", "8"],
  ["qwen3.5-moe", "off"],
  ["qwen3.5-moe", "8"],
  ["gemma4", "off"],
  ["gemma4-large", "8"],
  ["qwen3-moe", "off"],
  ["qwen3-moe-sums", "8"],
  ["granite4-hybrid", "off"],
  ["granite4-hybrid", "4"],
  ["nemotron-h", "8"],
  ["nemotron-h", "off"],
  ["gpt-oss", "off"],
  ["gpt-oss-mxfp4", "as-stored"],
] as const;

for (const [name, quantization] of searchedOf(cases, 2)) {
  test(`${name}, ${quantization}: any cut and grouping of prompts gives the rows of whole prompts, and paired lanes give the rows of each`, async () => {
    const folder = `test/fixtures/goldens/models/${name}`;
    const config = readModelConfig(folder);
    const read = { cacheFolder: null, quantization, kernels: await integerKernels(null) };
    const { sources, forms } = readQuantizedWeights(folder, config, read);
    const options = { config, weights: sources, forms, threads: 2, adapterCountMax: 1, pairsAdapters: true };
    const runner = await createGraphRunner(options);
    const small = randomAdapter(config, 4);
    for (const pair of [
      [null, null],
      [small, null],
      [small, small],
      [randomAdapter(config, 16), small],
    ] as const)
      if (recurrenceOf(config) === null) await checkPairs(runner, pair, seededRandom("pairs", name));
    for (const adapter of [null, randomAdapter(config, 4), randomAdapter(config, 20)]) {
      for (const seed of searchSeeds(1)) {
        await checkCuts(runner, adapter, seededRandom("cuts", name, seed));
      }
    }
    await runner.close();
  });
}
