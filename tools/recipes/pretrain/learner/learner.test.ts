import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createRandomWeights } from "../../../../src/inference/architectures/testing/random-weights.ts";
import { adamWStep, createAdamWState } from "../../../../src/train/trainer/adamw.ts";
import { readCheckpoint, writeCheckpoint } from "../checkpoint.ts";
import { createLearner } from "./learner.ts";
import { countingBatch, countingConfig as config } from "./testing/counting-rows.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-learner-"));
after(() => rmSync(folder, { recursive: true }));
test("training reduces the loss, and continues from a checkpoint exactly as if it had not stopped", async () => {
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
