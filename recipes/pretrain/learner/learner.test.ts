import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { seededRandom } from "../../../src/domain/random.ts";
import type { ModelConfig } from "../../../src/model/config.ts";
import { readModelConfig } from "../../../src/model/config/read-config.ts";
import { createRandomWeights } from "../../../src/model/random-weights.ts";
import { adamWStep, createAdamWState } from "../../../src/training/adamw.ts";
import { readCheckpoint, writeCheckpoint } from "../checkpoint.ts";
import { writeConfiguration } from "../model/folder.ts";
import { createLearner } from "./learner.ts";
import { createParallelLearner, splitBatch } from "./parallel-learner.ts";
import type { Batch } from "./rows.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-learner-"));
after(() => rmSync(folder, { recursive: true }));
writeConfiguration(folder);
const full = readModelConfig(folder);
const config: ModelConfig = {
  ...full,
  vocabularySize: 20,
  width: 16,
  intermediateSize: 24,
  headCount: 2,
  kvHeadCount: 2,
  headSize: 8,
  layers: full.layers.slice(0, 2),
};

/** Rows that count upwards, so that the next token follows from the last. */
function countingBatch(seed: number): Batch {
  const random = seededRandom("counting", seed);
  const tokens: number[] = [];
  const places: number[] = [];
  for (let row = 0; row < 5; row++) {
    const start = random.index(10);
    for (let place = 0; place < 8; place++) tokens.push(start + place);
    // Unequal numbers of places per row: shares have to be weighted.
    for (let place = row; place < 7; place++) places.push(row * 8 + place);
  }
  return {
    rowCount: 5,
    length: 8,
    tokens_BT: BigInt64Array.from(tokens, BigInt),
    places_N: BigInt64Array.from(places, BigInt),
    targets_N: BigInt64Array.from(places, (place) => BigInt(tokens[place + 1] ?? 0)),
    weights_N: Float32Array.from(places, (place) => 1 / (1 + (place % 3))),
  };
}

test("workers together find the loss and the gradient of one learner", async () => {
  const weights = createRandomWeights(config, { seed: 1, deviation: 0.1 });
  const single = await createLearner(config, { threads: 1 });
  const parallel = await createParallelLearner(config, { workers: 2 });
  const expected = await single.differentiate(weights, countingBatch(1));
  const found = await parallel.differentiate(weights, countingBatch(1));
  assert.ok(Math.abs(found.loss - expected.loss) < 1e-5, `${found.loss} and ${expected.loss}`);
  for (const [name, slope] of expected.gradients) {
    for (const [index, value] of slope.entries()) {
      assert.ok(Math.abs((found.gradients.get(name)?.[index] ?? NaN) - value) < 1e-5, `${name}[${index}]`);
    }
  }
  await single.close();
  await parallel.close();
});

test("a batch is cut between rows, and no place is lost", () => {
  const batch = countingBatch(2);
  const parts = splitBatch(batch, 2);
  assert.deepEqual(
    parts.map(({ rowCount }) => rowCount),
    [2, 3],
  );
  assert.deepEqual(
    parts.flatMap(({ targets_N }) => [...targets_N]),
    [...batch.targets_N],
  );
  for (const part of parts) {
    for (const [index, place] of part.places_N.entries()) {
      assert.equal(part.tokens_BT[Number(place) + 1], part.targets_N[index]);
    }
  }
});

test("training learns, and goes on from a checkpoint exactly as without one", async () => {
  const learner = await createLearner(config, { threads: 1 });
  const steps = async (start: ReturnType<typeof fresh>, from: number, to: number): Promise<number> => {
    let loss = Number.NaN;
    for (let step = from; step < to; step++) {
      const result = await learner.differentiate(start.weights, countingBatch(step));
      loss = result.loss;
      adamWStep(start.optimizer, start.weights, result.gradients, {
        learningRate: 0.02,
        beta1: 0.9,
        beta2: 0.98,
        epsilon: 1e-8,
        weightDecay: 0,
        gradientNormMax: 1,
      });
    }
    return loss;
  };
  const fresh = () => {
    const weights = createRandomWeights(config, { seed: 2, deviation: 0.1 });
    return { weights, optimizer: createAdamWState(weights) };
  };
  const straight = fresh();
  const firstLoss = await steps(straight, 0, 1);
  const lastLoss = await steps(straight, 1, 40);
  assert.ok(lastLoss < firstLoss / 2, `${firstLoss} fell to ${lastLoss}`);

  const interrupted = fresh();
  await steps(interrupted, 0, 25);
  const cost = { pieces: 2, wallSeconds: 1.5, processorSeconds: 2.5, memoryBytes: 1000 };
  const progress = { stepCount: 25, cost };
  writeCheckpoint(folder, config, { ...interrupted, progress });
  const resumed = readCheckpoint(folder);
  assert.ok(resumed !== null);
  assert.deepEqual(resumed.progress, progress);
  assert.equal(await steps(resumed, 25, 40), lastLoss);
  for (const [name, values] of straight.weights) assert.deepEqual(resumed.weights.get(name), values, name);
  await learner.close();
});
