// The contract of every trainer, as far as it is numbers: log-probabilities, losses, gradients, steps, versions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveTrainingConfig } from "../../domain/training-config.ts";
import type { LoraAdapter } from "../../model/lora.ts";
import { trainedIndices } from "../../trajectories/sequences.ts";
import { naiveLoss, naiveSlopes } from "../testing/naive-loss.ts";
import type { Loss, Trainer, TrainingSequence } from "../trainer.ts";
import { expectedLogprobs, tinyBatch, trainedAdapter } from "./tiny-model.ts";
import {
  type MakeTrainers,
  TrainerBench,
  adamStep,
  assertClose,
  assertRejects,
  flat,
} from "./trainers-under-test.ts";

export const policy: Loss = { kind: "policy", config: resolveTrainingConfig({}) };

/** The losses that the suite looks at: each changes how a token, or a whole sequence, counts. */
export const losses: readonly Loss[] = [
  policy,
  { kind: "policy", config: resolveTrainingConfig({ ppo: true, k2Tau: 0.1 }) },
  { kind: "policy", config: resolveTrainingConfig({ importanceSamplingLevel: "sequence", ppo: true }) },
  { kind: "policy", config: resolveTrainingConfig({ maskProbRatio: true, epsilonHigh: 0.5 }) },
  { kind: "policy", config: resolveTrainingConfig({ klPenaltyCoefficient: 0.7 }) },
  { kind: "policy", config: resolveTrainingConfig({ klPenaltyCoefficient: 0.7, ppo: true, k2Tau: 0.1 }) },
  { kind: "cross-entropy" },
];

/** Registers the tests of what a trainer computes; see {@link checkTrainer}. */
export function checkNumbers(make: MakeTrainers): void {
  test("forward gives the model's log-probabilities, of the base and of an adapter", async (t) => {
    const bench = new TrainerBench(make, t);
    const batch = tinyBatch();
    const check = async (trainer: Trainer, adapter: Parameters<typeof expectedLogprobs>[1]) => {
      const { logprobs } = await trainer.forward(batch, bench.call());
      assert.equal(logprobs.length, batch.length);
      batch.forEach((sequence, row) => assertClose(logprobs[row], expectedLogprobs(sequence, adapter), 1e-5));
    };
    await check(await bench.open(), trainedAdapter());
    // A new adapter changes nothing yet.
    await check(await bench.trainers.open({ from: null, seed: "new" }), null);
  });

  test("forward without the adapter gives the base model's, and leaves the adapter as it is", async (t) => {
    const bench = new TrainerBench(make, t);
    const batch = tinyBatch();
    const trainer = await bench.open();
    const base = await trainer.forward(batch, bench.call(), { hasAdapter: false });
    batch.forEach((sequence, row) => assertClose(base.logprobs[row], expectedLogprobs(sequence, null), 1e-5));
    const own = await trainer.forward(batch, bench.call(), { hasAdapter: true });
    batch.forEach((sequence, row) =>
      assertClose(own.logprobs[row], expectedLogprobs(sequence, trainedAdapter()), 1e-5),
    );
  });

  for (const loss of losses) {
    test(`the loss and its gradient are those of the formula: ${nameOf(loss)}`, async (t) => {
      const bench = new TrainerBench(make, t);
      const trainer = await bench.open();
      const batch = tinyBatch();
      const result = await trainer.forwardBackward(batch, loss, bench.call());
      const inputs = batch.map((sequence) => ({
        sequence,
        logprobs: expectedLogprobs(sequence, trainedAdapter()),
      }));
      result.logprobs.forEach((values, row) => assertClose(values, inputs[row].logprobs, 1e-5));
      const expected = naiveLoss(inputs, loss);
      assert.ok(Math.abs(result.loss - expected) <= 1e-5 * Math.abs(expected), `${result.loss}, ${expected}`);
      assert.ok(Object.values(result.metrics).every(Number.isFinite));
      const gradient = await bench.gradient(trainer);
      const largest = Math.max(...gradient.map(Math.abs));
      for (let index = 0; index < gradient.length; index += 31) {
        const slope = slopeOf(index, inputs, loss);
        const difference = Math.abs(gradient[index] - slope);
        assert.ok(difference <= 1e-4 * largest, `${index}: ${gradient[index]} is not ${slope}`);
      }
    });
  }

  test("a gradient changes nothing before its step, and is gone after it", async (t) => {
    const bench = new TrainerBench(make, t);
    const trainer = await bench.open();
    const before = await bench.save(trainer);
    await trainer.forwardBackward(tinyBatch(), policy, bench.call());
    assert.deepEqual((await bench.save(trainer)).bytes, before.bytes);
    await bench.gradient(trainer);
    await assertRejects(trainer.optimStep(adamStep, bench.call()), "invalid");
    const reopened = await bench.trainers.open({ from: (await bench.save(trainer)).from, seed: "seed" });
    for (const each of [trainer, reopened])
      await each.forwardBackward(tinyBatch().slice(0, 1), policy, bench.call());
    assertClose(await bench.gradient(trainer), await bench.gradient(reopened), 1e-4);
  });

  test("gradients of parts add up to that of all, each divided by its own tokens", async (t) => {
    const bench = new TrainerBench(make, t);
    const batch = tinyBatch();
    const whole = await bench.open();
    await whole.forwardBackward(batch, policy, bench.call());
    const parts = await bench.open();
    for (const part of [batch.slice(0, 2), batch.slice(2)]) {
      const share = (tokenCountOf(part) + 1e-6) / (tokenCountOf(batch) + 1e-6);
      const weighed = part.map((sequence) => ({ ...sequence, weight: sequence.weight * share }));
      await parts.forwardBackward(weighed, policy, bench.call());
    }
    assertClose(await bench.gradient(parts), await bench.gradient(whole), 1e-4);
  });

  test("the order of the sequences changes nothing but the order of the answer", async (t) => {
    const bench = new TrainerBench(make, t);
    const batch = tinyBatch();
    const loss = losses[2];
    const [forwards, backwards] = [await bench.open(), await bench.open()];
    const first = await forwards.forwardBackward(batch, loss, bench.call());
    const second = await backwards.forwardBackward([...batch].reverse(), loss, bench.call());
    assertClose([second.loss], [first.loss], 1e-5);
    [...second.logprobs].reverse().forEach((values, row) => assertClose(values, first.logprobs[row], 1e-5));
    assertClose(await bench.gradient(backwards), await bench.gradient(forwards), 1e-4);
  });

  test("a step decays, clips and moves as AdamW does", async (t) => {
    const bench = new TrainerBench(make, t);
    const gradientOf = async (): Promise<readonly number[]> => {
      const trainer = await bench.open();
      await trainer.forwardBackward(tinyBatch(), policy, bench.call());
      return bench.gradient(trainer);
    };
    const gradient = await gradientOf();
    const norm = Math.hypot(...gradient);
    const step = { ...adamStep, weightDecay: 0.5, gradientNormMax: norm / 4, epsilon: norm / 50 };
    const trainer = await bench.open();
    await trainer.forwardBackward(tinyBatch(), policy, bench.call());
    const { metrics } = await trainer.optimStep(step, bench.call());
    assert.ok(Object.values(metrics).every(Number.isFinite));
    const { gradient_norm: reported } = metrics;
    if (reported !== undefined) assertClose([reported], [norm], 1e-3);
    const moved = flat((await bench.save(trainer)).adapter);
    const expected = flat(trainedAdapter()).map((value, index) => {
      const slope = (gradient[index] * step.gradientNormMax) / (norm + 1e-6);
      const decayed = value * (1 - step.learningRate * step.weightDecay);
      // At the first step both corrected moments are the gradient's own.
      return decayed - (step.learningRate * slope) / (Math.abs(slope) + step.epsilon);
    });
    assertClose(moved, expected, 1e-4);
  });

  test("what is saved goes on exactly as if it had never been closed", async (t) => {
    const bench = new TrainerBench(make, t);
    const batch = tinyBatch();
    const through = await bench.open();
    const step = async (trainer: Trainer): Promise<void> => {
      await trainer.forwardBackward(batch, policy, bench.call());
      await trainer.optimStep(adamStep, bench.call());
    };
    await step(through);
    const { from } = await bench.save(through);
    await step(through);
    const expected = await bench.save(through);
    const reopened = await bench.trainers.open({ from, seed: "another" });
    await step(reopened);
    assert.deepEqual((await bench.save(reopened)).bytes, expected.bytes);
    // Without its state the adapter goes on, but the optimizer starts anew.
    const bare = await bench.trainers.open({ from: { ...from, trainerState: null }, seed: "another" });
    await step(bare);
    assert.notDeepEqual((await bench.save(bare)).bytes, expected.bytes);
  });

  test("the seed alone decides a new adapter", async (t) => {
    const bench = new TrainerBench(make, t);
    const bytesOf = async (seed: string): Promise<Buffer> =>
      (await bench.save(await bench.trainers.open({ from: null, seed }))).bytes;
    assert.deepEqual(await bytesOf("one"), await bytesOf("one"));
    assert.notDeepEqual(await bytesOf("one"), await bytesOf("two"));
  });
}

/** The gradient by one number of the adapter, by finite differences of the model's log-probabilities. */
function slopeOf(
  index: number,
  inputs: readonly { readonly sequence: TrainingSequence; readonly logprobs: readonly number[] }[],
  loss: Loss,
): number {
  const [plus, minus] = [adapterMovedBy(1e-4, index), adapterMovedBy(-1e-4, index)];
  return inputs.reduce((sum, input) => {
    const above = expectedLogprobs(input.sequence, plus);
    const below = expectedLogprobs(input.sequence, minus);
    const slopes = naiveSlopes(input, inputs, loss);
    return slopes.reduce((part, slope, at) => part + (slope * (above[at] - below[at])) / 2e-4, sum);
  }, 0);
}

/** The start adapter with its number `index`, counted over all matrices, moved. */
function adapterMovedBy(by: number, index: number): LoraAdapter {
  const adapter = trainedAdapter();
  let start = 0;
  const matrices = new Map(
    [...adapter.matrices].map(([name, values]) => {
      // Doubles, since float32 would swallow the small step; they are only read as numbers.
      const doubles = Float64Array.from(values);
      if (index >= start && index < start + values.length) doubles[index - start] += by;
      start += values.length;
      return [name, doubles as unknown as Float32Array];
    }),
  );
  return { ...adapter, matrices };
}

function tokenCountOf(batch: readonly TrainingSequence[]): number {
  return batch.reduce((count, sequence) => count + trainedIndices(sequence).length, 0);
}

function nameOf(loss: Loss): string {
  if (loss.kind !== "policy") return loss.kind;
  const { ppo, importanceSamplingLevel, maskProbRatio, klPenaltyCoefficient } = loss.config;
  const extras = [...(maskProbRatio ? ["masked"] : []), ...(klPenaltyCoefficient > 0 ? ["KL penalty"] : [])];
  return [ppo ? "PPO" : "CISPO", importanceSamplingLevel, ...extras].join(" ");
}
