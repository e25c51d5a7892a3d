// Compares log-probabilities, gradients of all LoRA matrices and five optimizer steps with values from PyTorch and PEFT
// in float64, for a model of each family. The values are in test/fixtures/goldens/lora-gradients.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import { present } from "../../../base/domain/assert.ts";
import { projectionNames, type ProjectionName } from "../../../base/domain/model.ts";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { readModelConfig } from "../../../inference/architectures/config/read-config.ts";
import { loraParameters } from "../../../inference/architectures/parameters.ts";
import { addTrainingForward } from "../../../inference/architectures/training/forward.ts";
import { floatReader, readModelWeights } from "../../../inference/architectures/weights.ts";
import { createSession } from "../../../inference/onnx/session.ts";
import { GraphBuilder } from "../../../lib/graph/builder.ts";
import { chunkSize } from "../../../lib/graph/delta.ts";
import { gradient } from "../../../lib/graph/gradient.ts";
import { float32Data, float32Tensor, int64Tensor, type Tensor } from "../../../lib/graph/tensor.ts";
import { readSafetensorsHeader } from "../../../lib/model-files/safetensors.ts";
import { readFloats, readIntegers } from "../../../lib/model-files/stored-tensor.ts";
import { adamWStep, createAdamWState } from "../adamw.ts";
import { runStreamed } from "./streamed-programs.ts";
import { recurrenceOf } from "../../../inference/architectures/recurrent/recurrence.ts";

const goldens = "test/fixtures/goldens";
const shape = { rank: 2, scale: 1.5 };

/** Settings with which the script computed the expected values. */
const adamW = {
  learningRate: 0.001,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0,
  gradientNormMax: 0,
};

/** Asserts that each value is within `tolerance` times the largest expected value. */
function checkClose(
  actual: Float32Array,
  expected: Float32Array,
  { tolerance, what }: { readonly tolerance: number; readonly what: string },
): void {
  assert.equal(actual.length, expected.length, what);
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const difference = expected.reduce((most, value, at) => Math.max(most, Math.abs(value - actual[at])), 0);
  assert.ok(difference <= tolerance * largest, `${what} differs by ${difference} of ${largest}`);
}

const attention = ["q_proj", "k_proj", "v_proj", "o_proj"] as const;

/** Adapter targets of the models whose adapters do not target all projections. */
const targetsOf: Readonly<Record<string, readonly ProjectionName[]>> = {
  "qwen3-moe": attention,
  "qwen3-moe-sums": attention,
  "gpt-oss": attention,
  "nemotron-h": projectionNames.filter((name) => name !== "out_proj"),
};

const names = readdirSync(`${goldens}/lora-gradients`).map((file) => basename(file, ".safetensors"));

const ways = ["whole", "streamed"] as const;

for (const [name, way] of searchedOf(
  names.flatMap((name) => ways.map((way) => [name, way] as const)),
  6,
)) {
  test(`${name}, ${way}: gradients and optimizer steps agree with PyTorch`, async () => {
    const folder = `${goldens}/models/${name}`;
    const lora = { ...shape, targets: targetsOf[name] ?? projectionNames };
    const config = readModelConfig(folder);
    const { tensors } = readSafetensorsHeader(`${goldens}/lora-gradients/${name}.safetensors`);
    const golden = (key: string): Float32Array => readFloats(present(tensors.get(key), key));
    const ids = [...readIntegers(present(tensors.get("token_ids"), "the tokens"))].map(Number);
    const parameters = loraParameters(config, lora);
    const adapter = new Map(parameters.map(({ name: key }) => [key, golden(`adapter/${key}`)]));

    const builder = new GraphBuilder({ keepsNothing: way === "streamed" });
    const { logprobs_N, learned } = addTrainingForward(
      builder,
      config,
      {
        layout: {
          kind: "rows",
          tokens_BT: builder.input("tokens", "int64", ["B", "T"]),
          ...(recurrenceOf(config) !== null && { chunks_U: builder.input("chunks", "int64", ["U"]) }),
        },
        places_N: builder.input("places", "int64", ["N"]),
        targets_N: builder.input("targets", "int64", ["N"]),
      },
      { learns: { kind: "lora", ...lora }, hasEntropy: false },
    );
    const slopes = gradient(builder, builder.reduceSum(logprobs_N), [...learned.values()]);
    const named = [...learned.keys()].map((key, index) => [`gradient ${key}`, slopes[index]]);
    const graph = builder.build({ logprobs: logprobs_N, ...Object.fromEntries(named) });
    const weights = readModelWeights(folder, config, { cacheFolder: null });
    const session = await createSession(graph, { weights, threads: 1, optimizesProgram: false });
    const streamOptions = { readFloats: floatReader(folder, config), threads: 1, partBytesMax: 2 ** 16 };
    const run = async (feeds: Readonly<Record<string, Tensor>>): Promise<Readonly<Record<string, Tensor>>> =>
      way === "whole" ? await session.run(feeds) : (await runStreamed(graph, [feeds], streamOptions))[0];
    const count = ids.length - 1;
    const compute = () =>
      run({
        tokens: int64Tensor([1, ids.length], ids),
        ...(recurrenceOf(config) !== null && { chunks: chunksFor(ids.length) }),
        places: int64Tensor([count], [...Array(count).keys()]),
        targets: int64Tensor([count], ids.slice(1)),
        ...Object.fromEntries(
          parameters.map(({ name: key, shape }) => [
            key,
            float32Tensor(shape, present(adapter.get(key), key)),
          ]),
        ),
      });

    const state = createAdamWState(adapter);
    for (let step = 0; step < 5; step++) {
      const outputs = await compute();
      const gradients = new Map(
        parameters.map(({ name: key }) => [key, float32Data(outputs[`gradient ${key}`])]),
      );
      if (step === 0) {
        checkClose(float32Data(outputs["logprobs"]), golden("logprobs_of_next"), {
          tolerance: 1e-4,
          what: "the log-probabilities",
        });
        // Layers with a delta rule or Mamba-2 end in a normalization, which amplifies rounding errors of values close
        // to 0.
        const tolerance = recurrenceOf(config) === null ? 1e-4 : 3e-4;
        for (const [key, values] of gradients)
          checkClose(values, golden(`gradient/${key}`), { tolerance, what: `the gradient of ${key}` });
      }
      // AdamW minimizes, but the sum of log-probabilities is to be maximized, so the test negates the gradients.
      const descent = new Map([...gradients].map(([key, values]) => [key, values.map((value) => -value)]));
      adamWStep(state, adapter, descent, adamW);
    }
    await session.release();
    for (const [key, values] of adapter) {
      const [start, end] = [golden(`adapter/${key}`), golden(`after_5_steps/${key}`)];
      const moved = lengthOf(end.map((value, at) => value - start[at]));
      const difference = lengthOf(end.map((value, at) => value - values[at]));
      assert.ok(difference <= 1e-3 * moved, `${key} after five steps differs by ${difference} of ${moved}`);
    }
  });
}

function lengthOf(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
}

/** Returns the program input whose length is the number of delta-rule chunks that `length` tokens need. */
function chunksFor(length: number) {
  const count = Math.ceil(length / chunkSize);
  return int64Tensor([count], Array<number>(count).fill(0));
}
