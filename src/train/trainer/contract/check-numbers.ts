// Part of the contract that all trainers must pass: log-probabilities, losses, gradients, optimizer steps and new
// adapters.
import assert from "node:assert/strict";
import { test } from "node:test";
import { resolvePreferenceConfig } from "../../../base/domain/preferences/preference-config.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import type { LoraAdapter } from "../../../inference/architectures/lora.ts";
import { trainedIndices } from "../../trajectories/sequences.ts";
import { batchLoss } from "../losses/batch-loss.ts";
import type { BatchLoss } from "../losses/loss-tokens.ts";
import { type Loss, preferenceLossOf, type Trainer, type TrainingSequence } from "../trainer.ts";
import { expectedLogprobs, tinyBatch, tinyBatchFor } from "./tiny-model.ts";
import {
  type MakeTrainers,
  TrainerBench,
  adamStep,
  assertClose,
  assertRejects,
  flat,
  policy,
} from "./trainers-under-test.ts";

/** Losses to check. They weight tokens, or whole sequences, in different ways. */
export const losses: readonly Loss[] = [
  policy,
  { kind: "policy", config: resolveTrainingConfig({ ppo: true, k2Tau: 0.1 }) },
  { kind: "policy", config: resolveTrainingConfig({ importanceSamplingLevel: "sequence", ppo: true }) },
  { kind: "policy", config: resolveTrainingConfig({ maskProbRatio: true, epsilonHigh: 0.5 }) },
  { kind: "policy", config: resolveTrainingConfig({ klPenaltyCoefficient: 0.7 }) },
  { kind: "policy", config: resolveTrainingConfig({ klPenaltyCoefficient: 0.7, ppo: true, k2Tau: 0.1 }) },
  { kind: "cross-entropy" },
  preferenceLossOf(resolvePreferenceConfig({ loss: "dpo", beta: 0.7, labelSmoothing: 0.1 })),
  preferenceLossOf(resolvePreferenceConfig({ loss: "ipo", beta: 1 })),
  preferenceLossOf(resolvePreferenceConfig({ loss: "simpo" })),
  preferenceLossOf(resolvePreferenceConfig({ loss: "kto", beta: 0.7, desirableWeight: 1.5 })),
];

/** Registers the contract's tests of computed numbers; see {@link checkTrainer}. */
export function checkNumbers(make: MakeTrainers, lookedAt: readonly Loss[]): void {
  test("forward returns the model's log-probabilities, which equal the base model's if the adapter is new", async (t) => {
    const bench = new TrainerBench(make, t);
    const batch = tinyBatch();
    const check = async (trainer: Trainer, adapter: LoraAdapter | null): Promise<void> => {
      const { logprobs } = await trainer.forward(batch, bench.call());
      assert.equal(logprobs.length, batch.length);
      batch.forEach((sequence, row) => assertClose(logprobs[row], expectedLogprobs(sequence, adapter), 1e-5));
    };
    await check(await bench.openAt({ kind: "new", seed: "new" }), null);
    const trainer = await bench.open();
    await check(trainer, (await bench.export(trainer)).adapter);
  });

  test("forward without the adapter returns the base model's log-probabilities and preserves the adapter, or is refused", async (t) => {
    const bench = new TrainerBench(make, t);
    const batch = tinyBatch();
    const trainer = await bench.open();
    const base = trainer.forward(batch, bench.call(), { hasAdapter: false });
    if (!bench.trainers.profile.hasBasePass) return await assertRejects(base, "unsupported");
    const { logprobs } = await base;
    batch.forEach((sequence, row) => assertClose(logprobs[row], expectedLogprobs(sequence, null), 1e-5));
    const own = await trainer.forward(batch, bench.call(), { hasAdapter: true });
    const { adapter } = await bench.export(trainer);
    batch.forEach((sequence, row) =>
      assertClose(own.logprobs[row], expectedLogprobs(sequence, adapter), 1e-5),
    );
  });

  test("computes the log-probability of another token than the next one where a sequence says so", async (t) => {
    const bench = new TrainerBench(make, t);
    const trainer = await bench.open();
    const { adapter } = await bench.export(trainer);
    const others = tinyBatch().map((sequence) => {
      const targetIds = sequence.tokenIds.map((token, at) => (at % 2 === 1 ? (token + 3) % 11 : token));
      return { ...sequence, targetIds };
    });
    const batch = [...others, ...tinyBatch()];
    const { logprobs } = await trainer.forward(batch, bench.call());
    batch.forEach((sequence, row) => assertClose(logprobs[row], expectedLogprobs(sequence, adapter), 1e-5));
  });

  for (const loss of lookedAt) {
    test(`the loss and its gradient follow the formula: ${nameOf(loss)}`, async (t) => {
      const bench = new TrainerBench(make, t);
      const trainer = await bench.open();
      const batch = tinyBatchFor(loss);
      const computing = trainer.forwardBackward(batch, loss, bench.call());
      if (!bench.trainers.profile.losses.includes(loss.kind))
        return await assertRejects(computing, "unsupported");
      const result = await computing;
      const { adapter } = await bench.export(trainer);
      const inputs = batch.map((sequence) => ({ sequence, logprobs: expectedLogprobs(sequence, adapter) }));
      result.logprobs.forEach((values, row) => assertClose(values, inputs[row].logprobs, 1e-5));
      const expected = batchLoss(inputs, loss);
      assertClose([result.loss], [expected.loss], 1e-5);
      assert.ok(Object.values(result.metrics).every(Number.isFinite));
      const gradient = await bench.gradient(trainer);
      const largest = Math.max(...gradient.map(Math.abs));
      for (let index = 0; index < gradient.length; index += 31) {
        const slope = slopeOf(adapter, index, batch, expected);
        const difference = Math.abs(gradient[index] - slope);
        assert.ok(difference <= 1e-4 * largest, `${index}: ${gradient[index]} is not ${slope}`);
      }
    });
  }

  test("a gradient changes nothing before the optimizer step, which clears it", async (t) => {
    const bench = new TrainerBench(make, t);
    const trainer = await bench.open();
    const before = await bench.export(trainer);
    await trainer.forwardBackward(tinyBatch(), policy, bench.call());
    bench.assertSame(await bench.export(trainer), before);
    await bench.gradient(trainer);
    await assertRejects(trainer.optimStep(adamStep, bench.call()), "invalid");
    const reopened = await bench.reopen(await bench.save(trainer));
    for (const each of [trainer, reopened])
      await each.forwardBackward(tinyBatch().slice(0, 1), policy, bench.call());
    assertClose(await bench.gradient(trainer), await bench.gradient(reopened), 1e-4);
  });

  test("gradients of parts, each divided by its own token count, add up to the gradient of the whole batch", async (t) => {
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

  test("the order of the sequences changes only the order of the results", async (t) => {
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

  test("an optimizer step decays weights, clips the gradient and moves weights like AdamW", async (t) => {
    const bench = new TrainerBench(make, t);
    const begun = async (): Promise<Trainer> => {
      const trainer = await bench.openAt({ kind: "new", seed: "seed" });
      await trainer.forwardBackward(tinyBatch(), policy, bench.call());
      return trainer;
    };
    const gradient = await bench.gradient(await begun());
    const norm = Math.hypot(...gradient);
    const { fixedInStep = [] } = bench.trainers.profile;
    const clips = !fixedInStep.includes("gradientNormMax");
    const gradientNormMax = clips ? norm / 4 : 0;
    const weightDecay = fixedInStep.includes("weightDecay") ? 0 : 0.5;
    const step = { ...adamStep, weightDecay, gradientNormMax, epsilon: norm / 50 };
    const trainer = await begun();
    const before = flat((await bench.export(trainer)).adapter);
    const { metrics } = await trainer.optimStep(step, bench.call());
    assert.ok(Object.values(metrics).every(Number.isFinite));
    const { gradient_norm: reported } = metrics;
    if (reported !== undefined) assertClose([reported], [norm], 1e-3);
    const moved = flat((await bench.export(trainer)).adapter);
    const expected = before.map((value, index) => {
      const slope = clips ? (gradient[index] * gradientNormMax) / (norm + 1e-6) : gradient[index];
      const decayed = value * (1 - step.learningRate * step.weightDecay);
      // In AdamW's first step, the bias-corrected moments are the gradient and its square.
      return decayed - (step.learningRate * slope) / (Math.abs(slope) + step.epsilon);
    });
    assertClose(moved, expected, 1e-4);
  });

  test("a new adapter depends only on the seed", async (t) => {
    const bench = new TrainerBench(make, t);
    const made = async (seed: string) => bench.export(await bench.openAt({ kind: "new", seed }));
    const one = await made("one");
    bench.assertSame(await made("one"), one);
    assert.notDeepEqual((await made("two")).adapter, one.adapter);
  });
}

/**
 * Returns the derivative of the loss with respect to one adapter value, computed with finite differences from the
 * model's log-probabilities.
 */
function slopeOf(
  adapter: LoraAdapter,
  index: number,
  batch: readonly TrainingSequence[],
  { slopes }: BatchLoss,
): number {
  const [plus, minus] = [movedBy(1e-4, adapter, index), movedBy(-1e-4, adapter, index)];
  return batch.reduce((sum, sequence, row) => {
    const above = expectedLogprobs(sequence, plus);
    const below = expectedLogprobs(sequence, minus);
    return slopes[row].reduce((part, slope, at) => part + (slope * (above[at] - below[at])) / 2e-4, sum);
  }, 0);
}

/** Returns the adapter with `by` added to one value. `index` counts the values of all matrices. */
function movedBy(by: number, adapter: LoraAdapter, index: number): LoraAdapter {
  let start = 0;
  const matrices = new Map(
    [...adapter.matrices].map(([name, values]) => {
      // Uses doubles, because rounding to float32 would lose the small change. Callers read the values only as numbers.
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
  if (loss.kind === "preference") return `preferences by ${loss.config.loss}`;
  if (loss.kind !== "policy") return loss.kind;
  const { ppo, importanceSamplingLevel, maskProbRatio, klPenaltyCoefficient } = loss.config;
  const extras = [...(maskProbRatio ? ["masked"] : []), ...(klPenaltyCoefficient > 0 ? ["KL penalty"] : [])];
  return [ppo ? "PPO" : "CISPO", importanceSamplingLevel, ...extras].join(" ");
}
