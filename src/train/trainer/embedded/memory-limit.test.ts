// Tests a job's memory estimate, and that a job above the limit is refused before its first step.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { projectionNames } from "../../../base/domain/model.ts";
import { llama135m, llama135mFile } from "../../../../tools/bench/llama-135m.ts";
import { parseModelConfig } from "../../../inference/architectures/config/read-config.ts";
import { float32Bytes, modelParameters } from "../../../inference/architectures/parameters.ts";
import { trainedBytes, type WeightForms } from "../../../inference/architectures/quantized/weight-forms.ts";
import { tinyBatch } from "../contract/tiny-model.ts";
import { tinyTrainers } from "../contract/trainers-under-test.ts";
import { trainingSettings } from "../settings.ts";
import { layoutOf } from "../packing/pack-layout.ts";
import { cutIntoPacks } from "../packing/packs.ts";
import { ungrouped } from "../packing/prefix-groups.ts";
import type { TrainingSequence } from "../trainer.ts";
import { EmbeddedTrainers } from "./embedded-trainer.ts";
import type { Microbatch } from "./feeds.ts";
import { economies, estimateMemory, findLargest } from "./memory-limit.ts";
import { sequenceTrainingBytes } from "./sequence-memory.ts";
import { buildGradientGraph, buildLogprobGraph } from "./training-graphs.ts";

const crossEntropy = { kind: "cross-entropy" } as const;

function trainersWith(memoryBytes: number, microbatchTokens: number): EmbeddedTrainers {
  return tinyTrainers({ dataFolder: "/", microbatchTokens, memoryBytes, sharesPrefixes: false });
}

function sequenceOf(length: number): TrainingSequence {
  return {
    tokenIds: new Int32Array(length),
    mask: Uint8Array.from({ length }, (_, index) => (index === 0 ? 0 : 1)),
    oldLogprobs: new Float32Array(length),
    advantage: 1,
    weight: 1,
    group: 0,
  };
}

function microbatchOf(...lengths: readonly number[]): Microbatch {
  const [pack] = cutIntoPacks(ungrouped(lengths.map(sequenceOf)), 1e9);
  return layoutOf(pack);
}

test("accepts a job that fits", async () => {
  await trainersWith(200e6, 1000).requireMemory([tinyBatch(), [sequenceOf(9)]], crossEntropy);
});

test("refuses a sequence that does not fit, with its length, the estimate, the limit and the cure", async () => {
  await assert.rejects(() => trainersWith(100e6, 1).requireMemory([[sequenceOf(9)]], crossEntropy), {
    name: "ServiceError",
    code: "unsupported",
    message:
      "A sequence of 9 tokens would need about 0.12 GB to train; the limit is 0.10 GB. " +
      "Exclude such sequences with training.sequenceLengthMax, or raise training.memoryBytes.",
  });
});

test("makes smaller microbatches if memory is short, only for that job", async () => {
  const batch = Array.from({ length: 32 }, () => sequenceOf(500));
  const packsWithin = async (memoryBytes: number): Promise<number> => {
    const trainers = trainersWith(memoryBytes, 32 * 500);
    await trainers.requireMemory([batch], crossEntropy);
    const count = trainers.cut(batch, crossEntropy).length;
    await trainers.requireMemory([[sequenceOf(9)]], crossEntropy);
    assert.equal(trainers.cut(batch, crossEntropy).length, 1);
    return count;
  };
  assert.equal(await packsWithin(Infinity), 1);
  assert.equal(await packsWithin(170e6), 2);
  await assert.rejects(packsWithin(100e6), /^ServiceError: A sequence of 500 tokens would need about/);
});

test("recomputes products, and then streams weights, if memory is short, only for that job", async () => {
  const wide = {
    hidden_size: 2048,
    intermediate_size: 8192,
    num_attention_heads: 32,
    num_key_value_heads: 8,
  };
  const file = { ...llama135mFile, ...wide, num_hidden_layers: 4, vocab_size: 1024 };
  const config = parseModelConfig(file, {}, "a wide shape");
  const batch = [sequenceOf(1000)];
  const economyWithin = async (memoryBytes: number): Promise<readonly [object, string | null]> => {
    const trainers = tinyTrainers({
      config,
      dataFolder: "/",
      lora: { rank: trainingSettings.with().loraRank, alpha: 16, targets: projectionNames },
      memoryBytes,
      microbatchTokens: 1000,
      sequenceLengthMax: 1000,
      threads: 1,
      readWeights: () => assert.fail("an estimate reads no weights"),
      readFloats: () => assert.fail("an estimate reads no weights"),
    });
    const warning = await trainers.requireMemory([batch], crossEntropy);
    const { economy } = trainers;
    await trainers.requireMemory([[sequenceOf(9)]], crossEntropy);
    return [economy, warning];
  };
  const bytesWithin = (limit: number): number => sequenceTrainingBytes(config, 1000, new Map(), limit);
  const plain = bytesWithin(Infinity);
  const recomputed = bytesWithin(plain - 1);
  const streamed = bytesWithin(recomputed - 1);
  assert.deepEqual(await economyWithin(1.1 * plain), [economies[0], null]);
  assert.deepEqual(await economyWithin((plain + recomputed) / 2), [economies[1], null]);
  const [economy, warning] = await economyWithin((recomputed + streamed) / 2);
  assert.deepEqual(economy, economies[2]);
  assert.match(warning ?? "", /exceed the memory limit of [\d.]+ GB\. So each step reads the weights/);
  await assert.rejects(economyWithin(0.7 * streamed), { code: "unsupported" });
});

test("makes smaller microbatches if a job would need much more memory than its weights", async () => {
  const trainers = new EmbeddedTrainers({
    config: llama135m(),
    readWeights: () => assert.fail("an estimate reads no weights"),
    lora: { rank: 8, alpha: 16, targets: projectionNames },
    baseModelName: "135m",
    artifacts: dataFolderAt("/").artifacts,
    sequenceLengthMax: 4096,
    microbatchTokens: 8 * 500,
    sharesPrefixes: false,
    threads: 2,
  });
  const packsOf = async (count: number): Promise<number> => {
    const batch = Array.from({ length: count }, () => sequenceOf(500));
    await trainers.requireMemory([batch], crossEntropy);
    return trainers.cut(batch, crossEntropy).length;
  };
  assert.equal(await packsOf(2), 1);
  // Two threads need at least 1,000 tokens to compute apart, so the microbatches do not become smaller than that.
  assert.equal(await packsOf(8), 4);
});

test("a trainer continues after its programs were freed", async () => {
  const trainers = trainersWith(Infinity, 1000);
  const { signal } = new AbortController();
  const trainer = await trainers.open({ kind: "new", seed: "freed" }, { id: "freed", signal });
  const forward = (id: string) => trainer.forward(tinyBatch(), { id, signal });
  const before = await forward("before");
  await trainers.close();
  assert.deepEqual(await forward("after"), before);
  await trainers.close();
});

test("checks the largest round by each size", () => {
  const [long, wide, small] = [microbatchOf(9), microbatchOf(5, 5, 5), microbatchOf(4, 4)];
  assert.deepEqual(findLargest([[small], [long], [wide]]), [[wide], [long]]);
});

test("on a 135 M shape a sequence of 4,096 tokens takes at most 6 GB, in proportion to its length", () => {
  const config = llama135m();
  const adapter = { rank: 8, scale: 2, targets: projectionNames };
  const graphs = [
    buildGradientGraph(config, { adapter, layout: "list", loss: crossEntropy }),
    buildLogprobGraph(config, { adapter, layout: "list" }),
  ];
  const bytesFor = (length: number): number =>
    estimateMemory({ config, adapter }, [{ graphs, largest: [[microbatchOf(length)]] }]).bytes;
  const [one, two, four] = [1024, 2048, 4096].map(bytesFor);
  assert.ok(four < 6e9, `${four} bytes`);
  // If a tensor grew with the square of the sequence length, the step from 2,048 to 4,096 tokens would show it.
  const growth = (four - two) / 2 / (two - one);
  assert.ok(growth < 1.05, `from 2,048 tokens to 4,096 twice ${growth} of what there was to 2,048`);
});

test("a job over 8 bits counts the 8-bit weights, or a part of the float32 weights if that is more", () => {
  const config = llama135m();
  const adapter = { rank: 8, scale: 2, targets: projectionNames };
  const graphs = [buildLogprobGraph(config, { adapter, layout: "list" })];
  const int8Forms = new Map(modelParameters(config).map(({ name }) => [name, "int8"] as const));
  const bytesOver = (base: { readonly int8Forms?: WeightForms }): number =>
    estimateMemory({ config, adapter, ...base }, [{ graphs, largest: [[microbatchOf(9)]] }]).bytes;
  const weights = Math.max(trainedBytes(config, int8Forms), 256e6);
  const expected = bytesOver({}) - float32Bytes(modelParameters(config)) + weights;
  assert.equal(bytesOver({ int8Forms }), expected);
});
