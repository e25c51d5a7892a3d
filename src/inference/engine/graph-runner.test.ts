// Tests the engine's loop with real models: the reference folders and their recorded answers.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  choiceCountOf,
  type AdapterReference,
  type GenerationRequest,
} from "../../base/domain/generation.ts";
import { adapterFiles, adapterHash } from "../architectures/hashes/adapter-hash.ts";
import { readModelConfig } from "../architectures/config/read-config.ts";
import { loraNames, loraParameters, modelParameters } from "../architectures/parameters.ts";
import { readLoraAdapter } from "../architectures/peft-folder.ts";
import { readSafetensorsFolder } from "../../lib/model-files/safetensors.ts";
import { readFloats } from "../../lib/model-files/stored-tensor.ts";
import { readModelWeights } from "../architectures/weights.ts";
import { weightsInMemory } from "../architectures/testing/weights-in-memory.ts";
import { present } from "../../base/domain/assert.ts";
import { searchedOf } from "../../base/domain/testing/search.ts";
import { createGraphRunner } from "./graph-runner.ts";
import type { ModelRunner } from "./model-runner.ts";
import { requestOf, runTogether, smallLimits, withAdapter, type Transcript } from "./testing/run-loop.ts";

const goldens = "test/fixtures/goldens";
const modelNames = [
  "llama",
  "llama3-rope",
  "qwen2",
  "qwen3",
  "mistral-sliding",
  "gemma3",
  "granite",
  "smollm3",
  "olmo2",
  "gemma4",
];
/** Hash of the base weights of all models in this test. An adapter's configuration has a hash to compare with it. */
const weightsHash = "b".repeat(64);
const runners = new Map<string, ModelRunner>();

after(async () => {
  for (const runner of runners.values()) await runner.close();
});

const runnerOf = async (name: string): Promise<ModelRunner> => {
  const open = runners.get(name);
  if (open !== undefined) return open;
  const folder = `${goldens}/models/${name}`;
  const config = readModelConfig(folder);
  const weights = readModelWeights(folder, config, { cacheFolder: null });
  const runner = await createGraphRunner({ config, weights, threads: 2, adapterCountMax: 2, weightsHash });
  runners.set(name, runner);
  return runner;
};

interface Golden {
  readonly greedy_prompt_ids: readonly number[];
  readonly greedy_ids: readonly number[];
}

const goldenOf = (name: string): Golden =>
  JSON.parse(readFileSync(`${goldens}/models/${name}/golden.json`, "utf8")) as Golden;

const adapter = { id: "golden:1", folder: `${goldens}/training/adapter` };

/** Requests with different lengths, choices and settings. */
const crowd = (name: string, adapter: AdapterReference | null): readonly GenerationRequest[] => {
  const ids = goldenOf(name).greedy_prompt_ids;
  const seeded = { temperature: 0.8, topP: 0.95, topK: 0, seed: 11 };
  return [
    requestOf(ids, { maxTokens: 40, topLogprobCount: 2 }),
    requestOf(ids.slice(3), { maxTokens: 70, sampling: seeded, topLogprobCount: 0 }),
    requestOf(ids.slice(0, 1), { maxTokens: 9, topLogprobCount: 0 }),
    requestOf([...ids, ...ids, ...ids, ...ids, ...ids, ...ids], { maxTokens: 30, topLogprobCount: 0 }),
    // The prompt is one row longer than a block of fused attention, so its last row is the only one in its block.
    requestOf([...ids, ...ids, ...ids, ...ids, ...ids, ...ids].slice(0, 65), {
      maxTokens: 5,
      topLogprobCount: 0,
    }),
    requestOf(ids.slice(1), { maxTokens: 25, choiceCount: 3, sampling: { ...seeded, temperature: 1 } }),
  ].map((request) => withAdapter(request, adapter));
};

/** Checks that token ids are equal. Log-probabilities must be equal to the last bit unless a tolerance is given. */
const check = (actual: Transcript, expected: Transcript, choiceCount: number, tolerance = 0): void => {
  for (let choice = 0; choice < choiceCount; choice++) {
    assert.deepEqual(actual.ids(choice), expected.ids(choice));
    const others = expected.logprobs(choice);
    actual.logprobs(choice).forEach((logprob, index) => {
      if (Number.isNaN(logprob)) assert.ok(Number.isNaN(others[index]));
      else assert.ok(Math.abs(logprob - others[index]) <= tolerance, `${logprob} is not ${others[index]}`);
    });
  }
};

const checkCrowd = async (
  runner: ModelRunner,
  requests: readonly GenerationRequest[],
  promptChunkTokens = 256,
): Promise<void> => {
  const limits = { ...smallLimits, tokensPerStepMax: 256, promptChunkTokens };
  const together = await runTogether(runner, requests, limits);
  for (const [index, request] of requests.entries()) {
    const [alone] = await runTogether(runner, [request], limits);
    check(together[index], alone, choiceCountOf(request));
  }
};

for (const name of searchedOf(modelNames, 5, "greedy")) {
  test(`${name}: greedy decoding gives the recorded tokens`, async () => {
    const { greedy_prompt_ids: prompt, greedy_ids: expected } = goldenOf(name);
    const request = requestOf(prompt, { maxTokens: expected.length });
    const [transcript] = await runTogether(await runnerOf(name), [request]);
    assert.deepEqual(transcript.ids(), expected);
  });
}

for (const name of searchedOf(modelNames, 2)) {
  test(`${name}: each request of a crowd gets the same bits as without company`, async () => {
    await checkCrowd(await runnerOf(name), crowd(name, null));
  });
}

test("a crowd whose prompts are computed in parts gets the same answers", async () => {
  for (const name of searchedOf(["llama", "mistral-sliding"], 1)) {
    await checkCrowd(await runnerOf(name), crowd(name, null), 10);
  }
  await checkCrowd(await runnerOf("qwen3"), [...crowd("qwen3", adapter), ...crowd("qwen3", null)], 10);
});

test("a crowd on an adapter gets the same answers", async () => {
  await checkCrowd(await runnerOf("qwen3"), [...crowd("qwen3", adapter), ...crowd("qwen3", null)]);
});

test("a prompt in parts gives the same bits as the whole prompt", async () => {
  for (const name of ["llama", "mistral-sliding", "gemma3"]) {
    const runner = await runnerOf(name);
    const prompt = goldenOf(name).greedy_ids.flatMap((id) => [id, (id * 7) % 500]);
    const request = requestOf(prompt, { topLogprobCount: 0 });
    const [whole] = await runTogether(runner, [request], { ...smallLimits, promptChunkTokens: 512 });
    for (const promptChunkTokens of [24, 13, 79]) {
      const [parts] = await runTogether(runner, [request], { ...smallLimits, promptChunkTokens });
      check(parts, whole, 1);
    }
  }
});

test("an adapter serves the same as a model with the adapter merged into its weights", async () => {
  const folder = `${goldens}/models/qwen3`;
  const config = readModelConfig(folder);
  const lora = readLoraAdapter(adapter.folder, config);
  const stored = readSafetensorsFolder(folder);
  const merged = new Map(
    modelParameters(config).map(({ name }) => [
      name,
      Float32Array.from(readFloats(present(stored.get(name), name))),
    ]),
  );
  for (const { name, shape } of loraParameters(config, lora)) {
    if (!name.endsWith(".lora_B.weight")) continue;
    const path = name.slice(0, -".lora_B.weight".length);
    const weight = present(merged.get(`${path}.weight`), path);
    const a = present(lora.matrices.get(loraNames(path).a), path);
    const b = present(lora.matrices.get(name), name);
    const inputSize = a.length / lora.rank;
    for (let row = 0; row < shape[0]; row++) {
      for (let column = 0; column < inputSize; column++) {
        let sum = 0;
        for (let rank = 0; rank < lora.rank; rank++) {
          sum += b[row * lora.rank + rank] * a[rank * inputSize + column];
        }
        weight[row * inputSize + column] += lora.scale * sum;
      }
    }
  }
  const reference = await createGraphRunner({
    config,
    weights: weightsInMemory(config, merged),
    threads: 2,
    adapterCountMax: 1,
  });
  const prompt = goldenOf("qwen3").greedy_prompt_ids;
  const request = requestOf(prompt, { maxTokens: 40, topLogprobCount: 0 });
  const [expected] = await runTogether(reference, [request]);
  await reference.close();
  const [adapted] = await runTogether(await runnerOf("qwen3"), [withAdapter(request, adapter)]);
  check(adapted, expected, 1, 1e-4);
});

test("requests of a base model and of an adapter run at the same time and do not mix", async () => {
  const runner = await runnerOf("qwen3");
  const prompt = goldenOf("qwen3").greedy_prompt_ids;
  const base = requestOf(prompt, { maxTokens: 40, topLogprobCount: 0 });
  const adapted = withAdapter(base, adapter);
  const [aloneBase] = await runTogether(runner, [base]);
  const [aloneAdapted] = await runTogether(runner, [adapted]);
  assert.notDeepEqual(aloneBase.logprobs(), aloneAdapted.logprobs());
  const [first, second, third] = await runTogether(runner, [adapted, base, adapted]);
  check(first, aloneAdapted, 1);
  check(second, aloneBase, 1);
  check(third, aloneAdapted, 1);
});

const failureOf = async (reference: AdapterReference, runner: ModelRunner): Promise<string> =>
  (await runTogether(runner, [requestOf([1, 2], { adapter: reference })]))[0].failure ?? "";

test("fails a request that names an adapter of another model", async () => {
  assert.match(await failureOf(adapter, await runnerOf("llama")), /^conflict: .*it cannot be read/);
});

test("fails a request whose adapter was trained on other weights, also when it is already loaded", async () => {
  const runner = await runnerOf("qwen3");
  assert.equal(await failureOf({ ...adapter, base: weightsHash }, runner), "");
  for (const base of ["a".repeat(64), "files:" + "c".repeat(64)])
    assert.match(
      await failureOf({ ...adapter, base }, runner),
      /^conflict: It was trained over other weights/,
    );
});

test("fails a request whose adapter changed by a byte on disk", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-adapter-"));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(adapter.folder, folder, { recursive: true });
  const runner = await runnerOf("qwen3");
  const stored = { id: "stored", folder, hash: adapterHash(folder) };
  assert.equal(await failureOf(stored, runner), "");
  for (const name of Object.values(adapterFiles)) {
    const bytes = readFileSync(join(folder, name));
    // Changes a bit of a matrix entry, or adds a blank after the configuration. Both files stay readable, so only the
    // hash can reveal the change.
    const changed = Buffer.concat([bytes, Buffer.from(name === adapterFiles.config ? " " : "")]);
    if (name === adapterFiles.matrices) changed[bytes.length - 3] ^= 1;
    writeFileSync(join(folder, name), changed);
    assert.match(
      await failureOf({ ...stored, id: name }, runner),
      /^conflict: .* is not the one that was stored/,
    );
    assert.equal(await failureOf({ id: `unchecked ${name}`, folder }, runner), "", "it could be served");
    writeFileSync(join(folder, name), bytes);
  }
});
