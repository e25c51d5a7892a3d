// Tests distances between distributions against their definitions. Also tests distances between models: zero from a
// model to itself, and small to a model with rounded weights.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readQuantizedWeights } from "../../architectures/weights.ts";
import { compareModels } from "./compare-models.ts";
import { distance } from "./compare-models.ts";
import { integerKernels } from "../../onnx/integer-kernels.ts";

test("the distance of two rows is that of their distributions", () => {
  const [p, q] = [
    [0.7, 0.2, 0.1],
    [0.3, 0.6, 0.1],
  ];
  const rowOf = (chances: readonly number[], shift: number): Float32Array =>
    Float32Array.from(chances, (chance) => Math.log(chance) + shift);
  const { logprobs, divergence, isSameGreedy } = distance(rowOf(p, 3), rowOf(q, -5), 1);
  const expected = p.reduce((sum, chance, index) => sum + chance * Math.log(chance / q[index]), 0);
  assert(Math.abs(divergence - expected) < 1e-5);
  assert(Math.abs(logprobs[0] - Math.log(0.2)) < 1e-5 && Math.abs(logprobs[1] - Math.log(0.6)) < 1e-5);
  assert.equal(isSameGreedy, false);
  assert.equal(distance(rowOf(p, 0), rowOf(p, 1), 0).isSameGreedy, true);
});

test("a model has no distance from itself, and little from its rounded weights", async () => {
  const folder = "test/fixtures/goldens/models/llama";
  const config = readModelConfig(folder);
  const random = seededRandom("tokens");
  const tokenIds = Array.from({ length: 300 }, () => random.index(config.vocabularySize));
  const kernels = await integerKernels(null);
  const weightsOf = (quantization: "off" | "8" | "4") =>
    readQuantizedWeights(folder, config, { cacheFolder: null, quantization, kernels });
  const compare = (quantization: "off" | "8" | "4") =>
    compareModels(
      config,
      { reference: weightsOf("off"), other: weightsOf(quantization) },
      { tokenIds, threads: 1 },
    );
  const same = await compare("off");
  assert.equal(same.perplexity.reference, same.perplexity.other);
  assert.deepEqual([same.divergence.mean < 1e-9, same.sameGreedyShare], [true, 1]);
  const [eight, four] = [await compare("8"), await compare("4")];
  assert(eight.tokenCount > 250 && eight.perplexity.reference === same.perplexity.reference);
  assert(eight.divergence.mean > 0 && eight.divergence.mean <= eight.divergence.max);
  if (kernels.fourBits) assert(eight.divergence.mean < four.divergence.mean, "fewer bits are further away");
  else assert.equal(eight.divergence.mean, four.divergence.mean, "4 bits are computed in 8 here");
  assert(eight.divergence.mean < 0.01, `${eight.divergence.mean}`);
});
