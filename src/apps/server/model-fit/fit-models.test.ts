// Tests the estimates of a model's memory and speed, and how models are found without a download of their weights.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { everyKernel } from "../../../base/domain/kernels/integer-kernels.ts";
import { parseModelConfig, readModelConfig } from "../../../inference/architectures/config/read-config.ts";
import { countParameters } from "../../../inference/architectures/parameters.ts";
import { readForms } from "../../../inference/architectures/weights.ts";
import { loopbackHub } from "../../../inference/models/library/testing/loopback-hub.ts";
import { describeModel } from "./described-model.ts";
import { fitModels, largestKnown } from "./fit-models.ts";
import { knownModels } from "./known-models.ts";
import { fitModel, type FitQuestion } from "./model-fit.ts";

const folder = "test/fixtures/goldens/models/llama";
const rates = (["float32", "int8", "int4"] as const).flatMap((form, index) =>
  [1, 8, 128].map((rows) => ({ form, rows, gigaOps: 10 * (index + 1) })),
);
const machineOf = (memoryBytes: number) => ({
  memoryBytes,
  kernels: { ...everyKernel, rates: [] },
  rates,
});

function newFolder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), "hone-fit-test-"));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

test("known models have as many parameters as their cards say", () => {
  const counts = new Map(
    knownModels.map(({ repository, config }) => [
      repository,
      countParameters(parseModelConfig(config, {}, repository)),
    ]),
  );
  // Numbers of parameters that the hub shows for the published weights.
  for (const [name, count] of [
    ["HuggingFaceTB/SmolLM2-135M-Instruct", 134_515_008],
    ["google/gemma-3-270m-it", 268_098_176],
    ["LiquidAI/LFM2-350M", 354_483_968],
    ["google/gemma-3-1b-it", 999_885_952],
    ["LiquidAI/LFM2.5-1.2B-Instruct", 1_170_340_608],
    ["meta-llama/Llama-3.2-1B-Instruct", 1_235_814_400],
    ["HuggingFaceTB/SmolLM3-3B", 3_075_098_624],
    ["meta-llama/Llama-3.2-3B-Instruct", 3_212_749_824],
    ["ibm-granite/granite-4.0-h-micro", 3_191_396_096],
    ["microsoft/Phi-4-mini-instruct", 3_836_021_760],
    ["Qwen/Qwen3-4B", 4_022_468_096],
    ["allenai/Olmo-3-7B-Instruct", 7_298_011_136],
    ["meta-llama/Llama-3.1-8B-Instruct", 8_030_261_248],
    ["Qwen/Qwen3-8B", 8_190_735_360],
    ["openai/gpt-oss-20b", 20_914_757_184],
    ["Qwen/Qwen3-30B-A3B-Instruct-2507", 30_532_122_624],
  ] as const)
    assert.equal(counts.get(name), count, name);
});

test("the speed is that of the products with weights, and memory decides what a model suits", () => {
  const config = readModelConfig(folder);
  const question: FitQuestion = {
    contextLength: 512,
    quantizations: ["off", "8"],
    formsOf: (choice) => readForms(folder, config, choice),
  };
  const [float, eight] = fitModel(config, question, machineOf(1e12));
  assert.ok(float.speed !== null && eight.speed !== null);
  // In this test, all int8 products run twice as fast as float32 products.
  assert.ok(Math.abs(eight.speed.one / float.speed.one - 2) < 1e-9);
  assert.ok(eight.weightBytes < float.weightBytes / 2);
  assert.notEqual(eight.trainingBytes, float.trainingBytes, "each is trained in its own precision");
  assert.deepEqual([float.isServable, float.isTrainable], [true, true]);
  const [small] = fitModel(config, question, machineOf(float.servingBytes - 1));
  assert.equal(small.isServable, false);
  const half = { ...question, contextLength: config.contextLength / 2 };
  assert.ok(fitModel(config, half, machineOf(1e12))[0].servingBytes < float.servingBytes);
});

test("names the largest known models for a machine's memory", () => {
  const found = (memoryBytes: number) => largestKnown(memoryBytes, everyKernel);
  assert.deepEqual(found(1e9), { served: null, trained: null });
  const { served, trained } = found(16e9);
  const order = knownModels.map(({ repository }) => repository);
  assert.ok(served !== null && trained !== null);
  assert.ok(order.indexOf(trained) < order.indexOf(served), `${trained} and ${served}`);
});

test("reads a model of the hub from its configuration, without the weights", async (t) => {
  const files = Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]),
  );
  const hub = await loopbackHub(t, { "someone/Small": { files } });
  const scratch = newFolder(t);
  const access = { endpoint: hub.endpoint, token: null };
  const options = { data: newFolder(t), scratch, hub: access };
  const found = await describeModel("someone/Small", options);
  assert.equal(found.hasTensors, false);
  assert.ok(found.downloadBytes > files["model.safetensors"].length);
  assert.ok(readdirSync(scratch).every((name) => name.endsWith("config.json")));
  assert.equal(readModelConfig(found.folder).width, readModelConfig(folder).width);
  await assert.rejects(describeModel("someone/None", options), /someone\/None/);
});

test("reads a GGUF model of the hub from the file's beginning", async (t) => {
  const content = readFileSync("test/fixtures/gguf/qwen2.gguf");
  const long = Buffer.concat([content, Buffer.alloc(40 * 2 ** 20)]);
  const hub = await loopbackHub(t, { "someone/Long-GGUF": { files: { "long-Q8_0.gguf": long } } });
  const scratch = newFolder(t);
  const access = { endpoint: hub.endpoint, token: null };
  const found = await describeModel("someone/Long-GGUF", { data: newFolder(t), scratch, hub: access });
  const { size, blocks } = statSync(join(scratch, "long-Q8_0.gguf"));
  assert.equal(size, long.length);
  assert.ok(blocks * 512 < 20 * 2 ** 20, `${blocks} blocks`);
  const config = readModelConfig(found.folder);
  assert.ok(readForms(found.folder, config, { quantization: "8", kernels: everyKernel }).size > 0);
});

test("measures this machine and estimates a model in its precisions", async () => {
  const { machine, models } = await fitModels(folder, { data: null, threads: 1, contextLength: 256 });
  assert.ok(machine.rates?.every(({ gigaOps }) => gigaOps > 0));
  const [{ fits, name }] = models;
  assert.equal(name, "llama");
  assert.ok(fits.every(({ speed }) => speed !== null && speed.one > 0 && speed.prompt > 0));
});
